// Package clips serves the routes that read saved clips.
package clips

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/keyring"
	"github.com/recital-tts/recital/internal/links"
	"github.com/recital-tts/recital/internal/readmodel"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves the clips that accounts have saved, and their audio.
type API struct {
	Pool  *pgxpool.Pool
	Keys  keyring.Opener
	Blobs blobs.Store
	Links links.Links
}

// Routes returns the rows for the public route table. Who knows a clip's id may see it, as the interface has it.
func (a *API) Routes() []web.Route {
	reads, tag := web.Reads(readmodel.ClipsView), web.Tag("Account")
	audioTypes, sends := []string{"*/*"}, web.Sends("accept-ranges", "etag", "cache-control")
	return []web.Route{
		web.Get("/v1/account/clips", a.list, reads, tag, web.Summary("Saved clips, in pages"), web.Returns[clipsResponse]()),
		web.Get("/v1/account/clip/{clip_id}", a.one, web.Public(), reads, tag, web.Summary("A saved clip"),
			web.Returns[Clip](), web.Refuses(404)),
		web.Get("/v1/account/clip/{clip_id}/audio", a.audio, web.Public(), reads, tag, web.Summary("The audio of a clip, by its signed address"),
			web.ReturnsMedia(audioTypes, sends), web.ReturnsMedia(audioTypes, web.Status(206), sends, web.Sends("content-range")),
			web.ReturnsNothing(304, sends), web.Refuses(403, 404, 416)),
	}
}

// Clip is the record of that name in the interface.
type Clip struct {
	URL       string  `json:"url" format:"uri" minlen:"1" maxlen:"2083" doc:"where the audio can be played"`
	Voice     string  `json:"voice"`
	Timestamp int64   `json:"timestamp"` // Unix seconds
	Text      *string `json:"text"`      // null when it cannot be read any more
	Speed     float64 `json:"speed" nullable:"true" ge:"0.25" le:"2"`
	Language  string  `json:"language" nullable:"true"`
	Debug     bool    `json:"debug" default:"false"`
}

var (
	fromClips   = ` from ` + readmodel.ClipsView.SQL()
	clipColumns = readmodel.Columns[clipRow](readmodel.ClipsView, "")
	clipQuery   = `select ` + clipColumns + fromClips + ` where clip_id = $1`
)

type clipRow struct {
	ID        string    `col:"clip_id"`
	Account   string    `col:"account_id"`
	Voice     string    `col:"voice"`
	SavedAt   time.Time `col:"saved_at"`
	Speed     float64   `col:"speed"`
	Language  string    `col:"language"`
	Debug     bool      `col:"debug"`
	Sealed    []byte    `col:"sealed"`
	SealedFor string    `col:"sealed_for"`
}

var errNoClip = domain.Refuse(domain.NotFound, "There is no such clip")

func (a *API) one(call *web.Call, in struct {
	ID string `path:"clip_id"`
}) (web.Reply, error) {
	rows, err := a.Pool.Query(call, clipQuery, in.ID)
	if err != nil {
		return web.Reply{}, readapi.QueryError(call, "reading a clip", err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[clipRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return web.Reply{}, errNoClip
	}
	if err != nil {
		return web.Reply{}, readapi.QueryError(call, "reading a clip", err)
	}
	response, err := a.show(call, row)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) show(call *web.Call, row clipRow) (Clip, error) {
	text, err := a.text(call, row)
	if err != nil {
		return Clip{}, err
	}
	return Clip{
		URL: a.Links.ClipAudio(call.Header("Host"), row.ID), Voice: row.Voice, Timestamp: row.SavedAt.Unix(),
		Text: text, Speed: row.Speed, Language: row.Language, Debug: row.Debug,
	}, nil
}

// text returns what was said, or nil when its key is gone for ever: the clip can still be played and deleted.
func (a *API) text(ctx context.Context, row clipRow) (*string, error) {
	plain, err := a.Keys.Open(ctx, row.Account, row.Sealed, row.SealedFor)
	if keyring.Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a clip: %w", err)
	}
	var content struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(plain, &content) != nil {
		return nil, errors.New("reading a clip: what was sealed is not a clip's content") // the cause might quote it
	}
	return &content.Text, nil
}

// languageFilter returns a language as the engine writes it: pt-br, not pt_BR.
func languageFilter(given *string) string {
	if given == nil {
		return ""
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(*given)), "_", "-")
}
