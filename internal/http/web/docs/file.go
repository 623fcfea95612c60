package docs

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/conditional"
)

// The parts of Swagger UI are those of the package swagger-ui-dist 5.35.0, compressed.
//
//go:embed page swagger-ui/*.gz swagger-ui/*.png
var parts embed.FS

// file is kept compressed, as nearly all clients want it.
type file struct {
	mediaType string
	gzipped   []byte
	size      int64 // without compression, in bytes
	tag       string
}

// embedded are the files of the page by their names.
func embedded() (map[string]file, error) {
	files := map[string]file{}
	for _, folder := range []string{"page", "swagger-ui"} {
		entries, err := parts.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("listing the files of the page: %w", err)
		}
		for _, entry := range entries {
			name := strings.TrimSuffix(entry.Name(), ".gz")
			if files[name], err = load(path.Join(folder, entry.Name())); err != nil {
				return nil, fmt.Errorf("reading the page's %s: %w", name, err)
			}
		}
	}
	return files, nil
}

func load(place string) (file, error) {
	content, err := parts.ReadFile(place)
	if err != nil {
		return file{}, err
	}
	plain, compressed := strings.CutSuffix(place, ".gz")
	mediaType := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".png": "image/png",
	}[path.Ext(plain)]
	if !compressed {
		return pack(mediaType, content)
	}
	// A gzip file ends with the size of what it holds (RFC 1952, 2.3.1).
	size := int64(binary.LittleEndian.Uint32(content[len(content)-4:]))
	return file{mediaType: mediaType, gzipped: content, size: size, tag: tagOf(content)}, nil
}

// pack compresses a file.
func pack(mediaType string, content []byte) (file, error) {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return file{}, err
	}
	if _, err := writer.Write(content); err != nil {
		return file{}, err
	}
	if err := writer.Close(); err != nil {
		return file{}, err
	}
	return file{mediaType: mediaType, gzipped: out.Bytes(), size: int64(len(content)), tag: tagOf(content)}, nil
}

// tagOf is a weak entity tag (RFC 9110, 8.8.3): one for both encodings.
func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return `W/"` + hex.EncodeToString(sum[:16]) + `"`
}

// reply answers the file in the encoding that the client takes, or that it is unchanged. Browsers revalidate it each time: a
// new release must not meet parts of the old one.
func (f file) reply(call *web.Call, in conditions) (web.Reply, error) {
	call.Vary("Accept-Encoding")
	content := web.Content{Tag: f.tag, CacheControl: "no-cache", Size: f.size, Body: func(conditional.Part) (web.Reply, error) { return f.body(in), nil }}
	return content.Serve(call, conditional.Headers{IfNoneMatch: in.IfNoneMatch})
}

func (f file) body(in conditions) web.Reply {
	if takesGzip(in.Encodings) {
		return web.Bytes(f.mediaType, f.gzipped).WithHeader("Content-Encoding", "gzip")
	}
	return web.Stream(f.mediaType, func(_ context.Context, w io.Writer) error {
		return f.unzip(w)
	}).WithLength(f.size)
}

// unzip writes the file as it is.
func (f file) unzip(w io.Writer) error {
	reader, err := gzip.NewReader(bytes.NewReader(f.gzipped))
	if err != nil {
		return fmt.Errorf("unpacking a file: %w", err)
	}
	_, err = io.Copy(w, reader)
	return err
}

// takesGzip reads an Accept-Encoding header (RFC 9110, 12.5.3) as far as it matters here.
func takesGzip(header string) bool {
	for _, one := range strings.Split(header, ",") {
		coding, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";q=")
		if strings.EqualFold(coding, "gzip") || coding == "*" {
			return strings.Trim(weight, "0.") != "" || weight == ""
		}
	}
	return false
}

// originOf is the scheme and host of an address, "" when it has none.
func originOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}
