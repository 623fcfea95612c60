// Package keyring serves the operators' routes on the keyring of the log.
package keyring

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	keys "github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API shows, changes and copies the keyring of the log.
type API struct {
	Keyring *keyring.Keyring
	Inbox   writeapi.Inbox // of a received copy
}

const (
	maxPiece      = 1 << 20 // bytes of a copy in a request
	importTimeout = 30 * time.Minute
)

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/keyring", a.show, web.Role("operator", "auditor"), web.Tag("Operators"),
			web.Summary("The keyring of the log, and the one in Postgres"), web.Returns[idsReply]()),
		web.Post("/admin/keyring/abandon", a.abandon, web.Role("operator"), web.Tag("Operators"),
			web.Acts(web.Act{Own: true, Reasoned: true}),
			web.Summary("Replace the log's keyring with the one in Postgres"),
			web.Description("Data that it sealed (texts of clips, feedback) is lost permanently. The log records the operator. "+
				"Repeating it has no effect."),
			web.Returns[idsReply](), web.Refuses(409)),
		web.Get("/admin/backup/keyring", a.export, web.Role("operator"), web.Tag("Operators"), web.Resumed(importTimeout),
			web.Acts(web.Act{Kind: audit.ActCopyKeyring, Anyway: true}),
			web.Summary("A copy of the keyring, as JSON lines"),
			web.Description("The keys stay wrapped with the master key, which is not in the copy. A copy that has a later "+
				"erased key must not be kept longer than the promise to erase permits."),
			web.ReturnsMedia([]string{copyType}), web.Refuses(409)),
		web.Put("/admin/keyring/import", a.receive, web.Role("operator"), web.Tag("Operators"), web.AppendsNothing(),
			web.MaxBody(maxPiece),
			web.Summary("Send a piece of a copy of the keyring"), web.Returns[writeapi.PieceReply](), web.Refuses(409)),
		web.Post("/admin/keyring/import", a.take, web.Role("operator"), web.Tag("Operators"), web.Timeout(importTimeout),
			web.Acts(web.Act{Kind: audit.ActImportKeyring}),
			web.Summary("Import the received copy of the keyring, completely or not at all"),
			web.Description("For a Postgres that was lost while the log was not. Keys of accounts that were closed since are "+
				"erased again. Repeating it has no effect."),
			web.Returns[adminapi.ImportReply](), web.Refuses(409)),
	}
}

type idsReply struct {
	Log      string `json:"log"`      // "" before the first start with a Postgres
	Postgres string `json:"postgres"` // "" if the keyring there is empty and has no id
}

func (a *API) show(call *web.Call, _ struct{}) (web.Reply, error) {
	ids, err := a.Keyring.IDs(call)
	return web.JSON(idsReply{Log: ids.Log, Postgres: ids.Store}), err
}

type abandonRequest struct {
	Keyring string `body:"keyring" doc:"id of the log's keyring"`
}

func (a *API) abandon(call *web.Call, in abandonRequest) (web.Reply, error) {
	position, err := a.Keyring.Abandon(call, in.Keyring, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(position.String())
	return a.show(call, struct{}{})
}

// copyType is the content type of a copy of the keyring.
const copyType = "application/x-ndjson"

// pieceOut is the size of a write to the connection, in bytes.
const pieceOut = 64 << 10

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

func (a *API) receive(_ *web.Call, in pieceRequest) (web.Reply, error) {
	return writeapi.Receive(a.Inbox, in.Offset, in.Piece)
}

// take imports the received copy. It drops a copy that is refused.
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
		return web.Reply{}, errors.Join(domain.Refuse(domain.Rejected, "The copy of the keyring is incomplete"), err,
			a.Inbox.Remove())
	case domain.CodeOf(err) == domain.Rejected:
		return web.Reply{}, errors.Join(err, a.Inbox.Remove())
	case err != nil:
		return web.Reply{}, err
	}
	ids, err := a.Keyring.IDs(call)
	reply := adminapi.ImportReply{Keyring: ids.Log, Keys: done.Keys, Erased: done.Erased}
	return web.JSON(reply).WithStatus(http.StatusOK), err
}
