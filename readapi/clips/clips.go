// Package clips serves the routes that read saved clips.
package clips

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/readapi"
)

// API serves the clips that accounts have saved, and their audio.
type API struct {
	Models readapi.Models
	Keys   keyring.Opener
	Sealed *sealed.Store // of audio
	Links  links.Links
}

// Routes returns the rows for the public route table. Who knows a clip's id may see it, as the interface has it.
func (a *API) Routes() []web.Route {
	reads, tag := web.Reads(readmodel.ClipsView.View), web.Tag("Account")
	audioTypes, sends := []string{"*/*"}, web.Sends("accept-ranges", "etag", "cache-control")
	return []web.Route{
		web.Get("/v1/account/clips", a.list, tag, web.Summary("Saved clips, in pages"),
			web.Reads(readmodel.ClipsView.View,
				readmodel.ClipsByTimeView.View, readmodel.ClipsByLengthView.View, readmodel.ClipsByVoiceView.View),
			web.Description("The clips of the account, sorted and filtered by the parameters. A page "+
				"behind the last one is empty."),
			web.Returns[clipsResponse]()),
		web.Get("/v1/account/clip/{clip_id}", a.one, web.Public(), reads, tag, web.Summary("A saved clip"),
			web.Description("A clip is public to everybody who knows its id."),
			web.Returns[Clip](), web.Refuses(404)),
		web.Get("/v1/account/clip/{clip_id}/audio", a.audio, web.Public(), reads, tag,
			web.Summary("The audio of a clip, by its signed address"),
			web.Description("The signature in the address admits, so no credential is needed. Parts of "+
				"the audio can be requested."),
			web.ReturnsMedia(audioTypes, sends),
			web.ReturnsMedia(audioTypes, web.Status(206), sends, web.Sends("content-range")),
			web.ReturnsNothing(304, sends), web.Refuses(403, 404, 416)),
	}
}

// Clip is the record of that name in the interface.
type Clip struct {
	ID        string  `json:"id" doc:"The id by which the clip is read and deleted."`
	URL       string  `json:"url" format:"uri" minlen:"1" maxlen:"2083" doc:"where the audio can be played"`
	Voice     string  `json:"voice" doc:"The id of the voice that speaks."`
	Timestamp int64   `json:"timestamp" doc:"When the clip was made, in Unix seconds."`
	Text      *string `json:"text" doc:"The text that is spoken; null when it can no longer be read."`
	Speed     float64 `json:"speed" nullable:"true" ge:"0.25" le:"2" doc:"The factor on the pace of the voice."`
	Language  string  `json:"language" nullable:"true" doc:"The language that was asked for, such as en, or else the one that was detected."`
	Debug     bool    `json:"debug" default:"false" doc:"True when the parameter debug asked for the clip, false when a session of a browser made it."`

	MediaType string `json:"media_type" doc:"What the audio is, such as audio/mpeg."`

	OriginalText     *string `json:"original_text,omitempty" doc:"what the request said the text is a translation of"`
	OriginalLanguage *string `json:"original_language,omitempty" doc:"what the request said the original is in"`
}

var (
	errNoClip = domain.Refuse(domain.NotFound, "There is no such clip")
	byID      = readapi.From(readmodel.ClipsView, `where clip_id = $1`, "reading a clip")
)

func (a *API) one(call *web.Call, in struct {
	ID string `path:"clip_id" doc:"The id of the clip." example:"01JB2K9V3N8QWX4T6Z0Y5R7M1C"`
}) (web.Reply, error) {
	row, err := byID.One(call, a.Models, errNoClip, in.ID)
	if err != nil {
		return web.Reply{}, err
	}
	response, err := a.show(call, row)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) show(call *web.Call, row readmodel.ClipRow) (Clip, error) {
	content, err := a.content(call, row)
	if err != nil {
		return Clip{}, err
	}
	language := row.Language // that was spoken
	if content.Language != "" {
		language = content.Language
	}
	return Clip{
		ID: row.Clip, URL: a.Links.ClipAudio(call.Header("Host"), row.Clip), Voice: row.Voice, Timestamp: row.SavedAt.Unix(),
		Text: content.Text, Speed: row.Speed, Language: language, Debug: row.Debug,
		MediaType:    row.MediaType,
		OriginalText: content.OriginalText, OriginalLanguage: content.OriginalLanguage,
	}, nil
}

// content is what was sealed of a request.
type content struct {
	Text     *string `json:"text"`     // nil when it cannot be read any more
	Language string  `json:"language"` // that was asked for; "" where it was to be detected

	OriginalText     *string `json:"originalText"` // nil where the request had none
	OriginalLanguage *string `json:"originalLanguage"`
}

// content returns nothing when its key is gone for ever: the clip can still be played and deleted.
func (a *API) content(ctx context.Context, row readmodel.ClipRow) (c content, err error) {
	plain, err := a.Keys.Open(ctx, row.Account, row.Sealed, row.ContentUse())
	if keyring.Gone(err) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("reading a clip: %w", err)
	}
	if json.Unmarshal(plain, &c) != nil || c.Text == nil {
		return content{}, errors.New("reading a clip: what was sealed is not a clip's content") // the cause might quote it
	}
	return c, nil
}

// languageFilter returns a language as the engine writes it: pt-br, not pt_BR.
func languageFilter(given *string) string {
	if given == nil {
		return ""
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(*given)), "_", "-")
}
