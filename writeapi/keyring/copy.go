package keyring

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/recital-tts/recital/domain"
	keys "github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/http/web"
)

// copyType is the content type of a copy of the keyring.
const copyType = "application/x-ndjson"

// pieceOut is how much of a copy is handed to the connection at once, in bytes.
const pieceOut = 64 << 10

// Inbox is a file that comes in pieces.
type Inbox interface {
	// Put writes a piece at an offset. It is refused where a piece before it is missing.
	Put(offset int64, piece []byte) error
	// Take calls use with the content, and removes the file when that returns nil.
	Take(use func(io.Reader) error) (found bool, err error)
	// Remove removes the file.
	Remove() error
}

func (a *API) export(call *web.Call, _ struct{}) (web.Reply, error) {
	write, err := a.Keyring.Export(call)
	if err != nil {
		return web.Reply{}, err
	}
	return web.Stream(copyType, func(ctx context.Context, w io.Writer) error {
		out := bufio.NewWriterSize(w, pieceOut)
		if err := write(ctx, out); err != nil {
			return err
		}
		return out.Flush()
	}), nil
}

type pieceRequest struct {
	Offset int64  `query:"offset" ge:"0" doc:"of the piece in the copy, in bytes; at 0 another copy begins"`
	Piece  []byte `raw:"body"`
}

type pieceReply struct {
	Size int64 `json:"size"` // of what has come, in bytes
}

func (a *API) receive(_ *web.Call, in pieceRequest) (web.Reply, error) {
	if err := a.Inbox.Put(in.Offset, bytes.Clone(in.Piece)); err != nil {
		return web.Reply{}, errors.Join(domain.Refuse(domain.Rejected, "The piece could not be kept: a piece before it is missing, or the disk failed"), err)
	}
	return web.JSON(pieceReply{Size: in.Offset + int64(len(in.Piece))}), nil
}

type importReply struct {
	Keyring string `json:"keyring"`
	Keys    int    `json:"keys"`
	Erased  int    `json:"erased"` // of them, those of accounts that were closed after the copy was made
}

// take imports the copy that has come. One that is refused is dropped.
func (a *API) take(call *web.Call, _ struct{}) (web.Reply, error) {
	var done keys.Imported
	found, err := a.Inbox.Take(func(from io.Reader) (err error) {
		done, err = a.Keyring.Import(call, from)
		return err
	})
	switch {
	case err == nil && !found:
		return web.Reply{}, domain.Refuse(domain.Rejected, "No copy has been sent")
	case errors.Is(err, keys.ErrCopy):
		return web.Reply{}, errors.Join(domain.Refuse(domain.Rejected, "The copy of the keyring is not whole"), err, a.Inbox.Remove())
	case domain.CodeOf(err) == domain.Rejected:
		return web.Reply{}, errors.Join(err, a.Inbox.Remove())
	case err != nil:
		return web.Reply{}, err
	}
	ids, err := a.Keyring.IDs(call)
	return web.JSON(importReply{Keyring: ids.Log, Keys: done.Keys, Erased: done.Erased}).WithStatus(http.StatusOK), err
}
