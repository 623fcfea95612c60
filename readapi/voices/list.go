package voices

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/voices"
	"github.com/recital-tts/recital/readapi"
)

// pageSize is the maximum number of an account's voices in memory.
const pageSize = 500

// pageQuery selects the system voices ($2) that the account has starred, and a page of its own voices after the last
// one ($4, $5), only starred ones if $3 is true.
var pageQuery = readapi.Rows[found]{Doing: "listing voices", Models: []readmodel.Model{readmodel.Voices}, SQL: `
	select array(select voice_id from ` + readmodel.StarsView.SQL() + ` where account_id = $1 and voice_id = any($2)),
		` + readmodel.VoicesView.Array("v", `where v.account_id = $1 and (v.starred or not $3::boolean)
			and (v.created_at, v.voice_id) > ($4::timestamptz, $5) order by v.created_at, v.voice_id limit $6`)}

// selection chooses the voices to list.
type selection struct{ system, own, starred bool }

// listing reads the voices of an account page by page.
type listing struct {
	api     *API
	account string
	host    string // from the request
	selection

	lastAt   time.Time
	lastID   string
	complete bool
}

// reply lists voices. An account may have thousands, so those after the first page are read while the reply is sent.
func (a *API) reply(call *web.Call, as form, s selection) (web.Reply, error) {
	l := &listing{api: a, account: call.Principal.Account, host: call.Header("Host"), selection: s}
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
	send := func(ctx context.Context, w io.Writer) error { return l.send(ctx, w, document) }
	return web.Stream("application/json", send), nil
}

// send sends the document so far, and the pages that follow.
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

// next returns the next page and its log position. The first page begins with the system voices.
func (l *listing) next(ctx context.Context) (page []voices.Voice, position string, err error) {
	limit := pageSize
	if !l.own {
		limit = 0
	}
	rows, position, err := pageQuery.Select(ctx, l.api.Models,
		l.account, l.api.Shower.Catalogue.IDs(), l.starred, l.lastAt, l.lastID, limit)
	if err != nil {
		return nil, "", err
	}
	found := rows[0]
	if l.lastID == "" && l.system {
		page = l.api.Shower.System(l.host, found.Starred)
	}
	if l.starred {
		page = slices.DeleteFunc(page, func(v voices.Voice) bool { return !v.Starred })
	}
	for _, row := range found.Owned {
		shown, err := l.api.Shower.Owned(ctx, l.host, ownedOf(row))
		if err != nil {
			return nil, "", err
		}
		page = append(page, shown)
		l.lastAt, l.lastID = row.CreatedAt, row.Voice
	}
	l.complete = len(found.Owned) < limit || limit == 0
	return page, position, nil
}

// form is the shape of a JSON document of voices.
type form struct {
	begin, end string
	keyed      bool // by id
}

var (
	array = form{begin: "[", end: "]"}
	byID  = form{begin: `{"voices":{`, end: "}}", keyed: true}
)

// document builds a JSON document of voices in pieces.
type document struct {
	form
	started bool // a voice was added
	pending bytes.Buffer
}

func newDocument(as form) *document {
	d := &document{form: as}
	d.pending.WriteString(as.begin)
	return d
}

func (d *document) add(page []voices.Voice) error {
	for _, v := range page {
		if d.started {
			d.pending.WriteByte(',')
		}
		d.started = true
		if d.keyed {
			fmt.Fprintf(&d.pending, "%q:", v.ID)
		}
		encoder := json.NewEncoder(&d.pending)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return fmt.Errorf("listing voices: %w", err)
		}
		d.pending.Truncate(d.pending.Len() - 1) // the line break
	}
	return nil
}

// take returns the piece added since the last call. It is valid until the next call of add.
func (d *document) take() []byte {
	piece := d.pending.Bytes()
	d.pending.Reset()
	return piece
}

// finish returns the last piece.
func (d *document) finish() []byte {
	d.pending.WriteString(d.end)
	return d.pending.Bytes()
}
