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

// Routes returns the rows for the public route table. By the interface, a clip is public to every caller with its id.
func (a *API) Routes() []web.Route {
	reads, tag := web.Reads(readmodel.ClipsView.View), web.Tag("Account")
	audioTypes, sends := []string{"*/*"}, web.Sends("accept-ranges", "etag", "cache-control")
	return []web.Route{
		web.Get("/v1/account/clips", a.list, tag, web.Summary("Saved clips, in pages"),
			web.Reads(readmodel.ClipsView.View,
				readmodel.ClipsByTimeView.View, readmodel.ClipsByLengthView.View, readmodel.ClipsByVoiceView.View),
			web.Description("The clips of the account, sorted and filtered by the parameters. A page "+
				"after the last one is empty."),
			web.Returns[clipsResponse]()),
		web.Get("/v1/account/clip/{clip_id}", a.one, web.Public(), reads, tag, web.Summary("A saved clip"),
			web.Description("A clip is public to every caller with its id."),
			web.Returns[Clip](), web.Refuses(404)),
		web.Get("/v1/account/clip/{clip_id}/audio", a.audio, web.Public(), reads, tag,
			web.Summary("The audio of a clip, by its signed address"),
			web.Description("The signature in the address replaces a credential. Parts of "+
				"the audio can be requested."),
			web.ReturnsMedia(audioTypes, sends),
			web.ReturnsMedia(audioTypes, web.Status(206), sends, web.Sends("content-range")),
			web.ReturnsNothing(304, sends), web.Refuses(403, 404, 416)),
	}
}

// Clip is the record of that name in the interface.
type Clip struct {
	ID        string  `json:"id" doc:"The id by which the clip is read and deleted."`
	URL       string  `json:"url" format:"uri" minlen:"1" maxlen:"2083" doc:"the address of the audio"`
	Voice     string  `json:"voice" doc:"The id of the voice."`
	Timestamp int64   `json:"timestamp" doc:"The time of creation, in Unix seconds."`
	Text      *string `json:"text" doc:"The spoken text; null if it can no longer be read."`
	Speed     float64 `json:"speed" nullable:"true" ge:"0.25" le:"2" doc:"The factor on the pace of the voice."`
	Language  string  `json:"language" nullable:"true" doc:"The requested language, such as en, or the detected one."`
	Debug     bool    `json:"debug" default:"false" doc:"True if the request saved the clip by debug, false if a browser session made it."`

	MediaType string `json:"media_type" doc:"The media type of the audio, such as audio/mpeg."`

	OriginalText     *string `json:"original_text,omitempty" doc:"the original of a translated text, from the request"`
	OriginalLanguage *string `json:"original_language,omitempty" doc:"the language of the original, from the request"`
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
	language := row.Language // the spoken one
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

// content is the encrypted part of a clip.
type content struct {
	Text     *string `json:"text"`     // nil if its key is gone
	Language string  `json:"language"` // of the request; "" if it was to be detected

	OriginalText     *string `json:"originalText"` // nil if the request had none
	OriginalLanguage *string `json:"originalLanguage"`
}

// content decrypts the content of a clip. It is empty if the key is gone for ever: the clip can still be played and
// deleted.
func (a *API) content(ctx context.Context, row readmodel.ClipRow) (c content, err error) {
	plain, err := a.Keys.Open(ctx, row.Account, row.Sealed, row.ContentUse())
	if keyring.Gone(err) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("reading a clip: %w", err)
	}
	if json.Unmarshal(plain, &c) != nil || c.Text == nil {
		return content{}, errors.New("reading a clip: the decrypted data is no clip's content") // the cause might quote it
	}
	return c, nil
}

// languageFilter returns a language in the engine's spelling: pt-br, not pt_BR.
func languageFilter(given string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(given)), "_", "-")
}
