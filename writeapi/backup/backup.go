// Package backup serves blobs for backups.
package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

// API lists and reads sealed blobs, as they are in the store.
type API struct {
	Blobs blobs.Store
	// reports whether a blob expires within minutes, so that backups omit it
	Fleeting func(blobs.Address) bool
}

// listType is the content type of a list of blobs, and blobType of a blob.
const (
	listType = "application/x-ndjson"
	blobType = "application/octet-stream"
)

// longest is the maximum duration of a reply.
const longest = time.Hour

// piece is the size of a write to the connection, in bytes.
const piece = 64 << 10

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	operator, tag := web.Role("operator"), web.Tag("Operators")
	acts := web.Acts(web.Act{Kind: audit.ActCopyBlobs, Anyway: true, Within: time.Hour})
	return []web.Route{
		web.Get("/admin/backup/blobs", a.list, operator, tag, acts, web.Resumed(longest),
			web.Summary("All blobs, as JSON lines"),
			web.Description("In no particular order. The last line has their number; a list without it is incomplete."),
			web.ReturnsMedia([]string{listType})),
		web.Get("/admin/backup/blob/{address}", a.read, operator, tag, acts, web.Resumed(longest),
			web.Summary("A blob as it is in the store"),
			web.ReturnsMedia([]string{blobType}), web.Refuses(404)),
	}
}

// line is a line of the list.
type line struct {
	Address blobs.Address `json:"address,omitempty"`
	Size    int64         `json:"size,omitempty"` // bytes
	Blobs   *int          `json:"blobs,omitempty"`
}

func (a *API) list(_ *web.Call, _ struct{}) (web.Reply, error) {
	return web.Stream(listType, func(ctx context.Context, w io.Writer) error {
		out, listed := bufio.NewWriterSize(w, piece), 0
		lines := json.NewEncoder(out)
		for blob, err := range a.Blobs.List(ctx, "") {
			if err != nil {
				return err
			}
			if a.Fleeting(blob.Address) {
				continue
			}
			if err := lines.Encode(line{Address: blob.Address, Size: blob.Size}); err != nil {
				return err
			}
			listed++
		}
		if err := lines.Encode(line{Blobs: &listed}); err != nil {
			return err
		}
		return out.Flush()
	}), nil
}

type blobRequest struct {
	Address string `path:"address"`
}

func (a *API) read(call *web.Call, in blobRequest) (web.Reply, error) {
	reply, err := a.open(call, blobs.Address(in.Address))
	if errors.Is(err, blobs.ErrNotFound) || errors.Is(err, blobs.ErrAddress) {
		return web.Reply{}, domain.Refuse(domain.NotFound, "There is no such blob")
	}
	return reply, err
}

// open opens the blob before the head of the reply is sent, so that an error can be the reply.
func (a *API) open(call *web.Call, address blobs.Address) (web.Reply, error) {
	blob, err := a.Blobs.Stat(call, address)
	if err != nil {
		return web.Reply{}, err
	}
	content, err := a.Blobs.Open(call, address, 0, blob.Size)
	if err != nil {
		return web.Reply{}, err
	}
	context.AfterFunc(call, func() { _ = content.Close() }) // even if the stream never starts
	return web.Stream(blobType, func(_ context.Context, w io.Writer) error {
		_, err := io.CopyBuffer(w, struct{ io.Reader }{content}, make([]byte, piece))
		return err
	}).WithLength(blob.Size), nil
}
