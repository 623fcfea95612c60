package writeapi

import (
	"bytes"
	"errors"
	"io"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// Inbox is a file that comes in pieces.
type Inbox interface {
	// Put writes a piece at an offset. It is refused where a piece before it is missing.
	Put(offset int64, piece []byte) error
	// Take calls use with the content, and removes the file when that returns nil.
	Take(use func(io.Reader) error) (found bool, err error)
	// Remove removes the file.
	Remove() error
}

// PieceReply is the reply to a piece.
type PieceReply struct {
	Size int64 `json:"size"` // of what has come, in bytes
}

// Receive puts a piece that has come into an inbox. Its bytes are copied.
func Receive(inbox Inbox, offset int64, piece []byte) (web.Reply, error) {
	if err := inbox.Put(offset, bytes.Clone(piece)); err != nil {
		return web.Reply{}, errors.Join(domain.Refuse(domain.Rejected, "The piece could not be kept: a piece before it is "+
			"missing, or the disk failed"), err)
	}
	return web.JSON(PieceReply{Size: offset + int64(len(piece))}), nil
}
