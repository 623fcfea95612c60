package writeapi

import (
	"bytes"
	"errors"
	"io"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// Inbox is a file that is received in pieces.
type Inbox interface {
	// Put writes a piece at an offset. It refuses a piece after a gap.
	Put(offset int64, piece []byte) error
	// Take calls use with the content, and removes the file if use returns nil.
	Take(use func(io.Reader) error) (found bool, err error)
	// Remove removes the file.
	Remove() error
}

// PieceReply is the reply to a piece.
type PieceReply struct {
	Size int64 `json:"size"` // bytes received so far
}

// Receive puts a received piece into an inbox. It copies the bytes.
func Receive(inbox Inbox, offset int64, piece []byte) (web.Reply, error) {
	if err := inbox.Put(offset, bytes.Clone(piece)); err != nil {
		return web.Reply{}, errors.Join(domain.Refuse(domain.Rejected, "The piece could not be stored: an earlier piece is "+
			"missing, or the disk failed"), err)
	}
	return web.JSON(PieceReply{Size: offset + int64(len(piece))}), nil
}
