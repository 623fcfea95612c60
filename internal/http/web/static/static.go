// Package static serves files embedded in the program.
package static

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
)

// Conditions are the headers of a request that determine the form of a file's reply.
type Conditions struct {
	Encodings   string `header:"accept-encoding" doc:"gzip is used"`
	IfNoneMatch string `header:"if-none-match" doc:"The etag of what the client has; if it is right, the reply is a 304."`
}

// File is a file in memory. It is compressed, for nearly all clients.
type File struct {
	mediaType string
	gzipped   func() []byte
	size      int64 // without compression, in bytes
	sum       string
}

// Pack returns a file that is compressed at its first use, so that it does not delay the start.
func Pack(mediaType string, content []byte) File {
	gzipped := sync.OnceValue(func() []byte {
		var out bytes.Buffer // writing to it never fails
		writer, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
		_, _ = writer.Write(content)
		_ = writer.Close()
		return out.Bytes()
	})
	return File{mediaType: mediaType, gzipped: gzipped, size: int64(len(content)), sum: sumOf(content)}
}

// Packed returns a file from its gzip-compressed content.
func Packed(mediaType string, content []byte) File {
	// A gzip file ends with the size of its content (RFC 1952, 2.3.1).
	size := int64(binary.LittleEndian.Uint32(content[len(content)-4:]))
	return File{mediaType: mediaType, gzipped: func() []byte { return content }, size: size, sum: sumOf(content)}
}

// MediaType returns the content type of a page's file by its name, or "" for other files.
func MediaType(name string) string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".png": "image/png",
	}[path.Ext(name)]
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:16])
}

// Size returns the size of the file without compression, in bytes.
func (f File) Size() int64 { return f.size }

// Sum returns a hash of the content in hexadecimal digits.
func (f File) Sum() string { return f.sum }

// Reply returns the file in an encoding that the client accepts, or 304 if the client has it.
func (f File) Reply(call *web.Call, in Conditions, cacheControl string) (web.Reply, error) {
	call.Vary("Accept-Encoding")
	content := web.Content{
		// a weak entity tag (RFC 9110, 8.8.3) is valid for both encodings
		Tag: `W/"` + f.sum + `"`, CacheControl: cacheControl, Size: f.size,
		Body: func(conditional.Part) (web.Reply, error) { return f.body(in), nil },
	}
	return content.Serve(call, conditional.Headers{IfNoneMatch: in.IfNoneMatch})
}

func (f File) body(in Conditions) web.Reply {
	if takesGzip(in.Encodings) {
		return web.Bytes(f.mediaType, f.gzipped()).WithHeader("Content-Encoding", "gzip")
	}
	return web.Stream(f.mediaType, func(_ context.Context, w io.Writer) error {
		return f.unzip(w)
	}).WithLength(f.size)
}

// unzip writes the file without compression.
func (f File) unzip(w io.Writer) error {
	reader, err := gzip.NewReader(bytes.NewReader(f.gzipped()))
	if err != nil {
		return fmt.Errorf("unpacking a file: %w", err)
	}
	_, err = io.Copy(w, reader)
	return err
}

// takesGzip reports whether an Accept-Encoding header (RFC 9110, 12.5.3) permits gzip.
func takesGzip(header string) bool {
	for _, one := range strings.Split(header, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";q=")
		if strings.EqualFold(coding, "gzip") || coding == "*" {
			return strings.Trim(weight, "0.") != "" || weight == ""
		}
	}
	return false
}
