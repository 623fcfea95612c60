package voices

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/readapi"
)

// pageSize is how many of an account's voices are in memory at once.
const pageSize = 500

// pageQuery selects which system voices ($2) the account has starred, and a page of its own voices after the last one
// ($4, $5), only starred ones if $3 is true.
var pageQuery = `select array(select voice_id from ` + readmodel.StarsView.SQL() + ` where account_id = $1 and voice_id = any($2)),
	array(select row(` + ownedColumns + `)` + fromVoices + ` and (v.starred or not $3::boolean) and (v.created_at, v.voice_id) > ($4::timestamptz, $5)
		order by v.created_at, v.voice_id limit $6)`

// selection is which voices are listed.
type selection struct{ system, own, starred bool }

// listing reads the voices of an account page by page.
type listing struct {
	api     *API
	account string
	host    string // that the client used
	of      selection

	lastAt   time.Time
	lastID   string
	complete bool
}

// reply lists voices. An account may have thousands, so those after the first page are read while the reply is sent.
func (a *API) reply(call *web.Call, as form, of selection) (web.Reply, error) {
	l := &listing{api: a, account: call.Principal.Account, host: call.Header("Host"), of: of}
	first, position, err := l.next(call)
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(position)
	document := newDocument(as)
	if err := document.add(first); err != nil {
		return web.Reply{}, err
	}
	if l.complete {
		return web.Bytes("application/json", document.finish()), nil
	}
	return web.Stream("application/json", func(ctx context.Context, w io.Writer) error { return l.send(ctx, w, document) }), nil
}

// send sends what the document holds, and the pages that are left.
func (l *listing) send(ctx context.Context, w io.Writer, document *document) error {
	for !l.complete {
		if _, err := w.Write(document.take()); err != nil {
			return err
		}
		page, _, err := l.next(ctx)
		if err != nil {
			return err
		}
		if err := document.add(page); err != nil {
			return err
		}
	}
	_, err := w.Write(document.finish())
	return err
}

// next returns the next page, the system voices with the first one, and the position that it shows.
func (l *listing) next(ctx context.Context) (page []voices.Voice, position string, err error) {
	var starred []string
	var rows []ownedRow
	limit := pageSize
	if !l.of.own {
		limit = 0
	}
	query := readapi.Query{SQL: pageQuery, Doing: "listing voices", Arguments: []any{l.account, voices.SystemIDs(), l.of.starred, l.lastAt, l.lastID, limit}}
	position, err = readapi.Select(ctx, l.api.Models, []readmodel.Model{readmodel.Voices}, query, func(row pgx.CollectableRow) error {
		return row.Scan(&starred, &rows)
	})
	if err != nil {
		return nil, "", err
	}
	if l.lastID == "" && l.of.system {
		page = l.api.Shower.System(l.host, starred)
	}
	if l.of.starred {
		page = slices.DeleteFunc(page, func(v voices.Voice) bool { return !v.Starred })
	}
	for _, row := range rows {
		shown, err := l.api.Shower.Owned(ctx, l.host, row.of(l.account))
		if err != nil {
			return nil, "", err
		}
		page = append(page, shown)
		l.lastAt, l.lastID = row.Created, row.ID
	}
	l.complete = len(rows) < limit || limit == 0
	return page, position, nil
}

// form is how a JSON document holds voices.
type form struct {
	begin, end string
	keyed      bool // each voice is the value of its id
}

var (
	array = form{begin: "[", end: "]"}
	byID  = form{begin: `{"voices":{`, end: "}}", keyed: true}
)

// document writes voices as JSON, piece by piece.
type document struct {
	form
	some  bool // at least one voice was added
	piece bytes.Buffer
}

func newDocument(as form) *document {
	d := &document{form: as}
	d.piece.WriteString(as.begin)
	return d
}

func (d *document) add(page []voices.Voice) error {
	for _, v := range page {
		if d.some {
			d.piece.WriteByte(',')
		}
		d.some = true
		if d.keyed {
			fmt.Fprintf(&d.piece, "%q:", v.ID)
		}
		encoder := json.NewEncoder(&d.piece)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return fmt.Errorf("listing voices: %w", err)
		}
		d.piece.Truncate(d.piece.Len() - 1) // the line break
	}
	return nil
}

// take returns what was added since the last call. It is valid until the next call of add.
func (d *document) take() []byte {
	taken := d.piece.Bytes()
	d.piece.Reset()
	return taken
}

// finish returns what take does, and the end of the document.
func (d *document) finish() []byte {
	d.piece.WriteString(d.end)
	return d.piece.Bytes()
}
