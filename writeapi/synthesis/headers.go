package synthesis

import (
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/internal/http/web"
	port "github.com/recital-tts/recital/internal/speech"
)

// headers are what is known of a reply before there is audio.
type headers struct {
	GenerationID  string  `header:"x-generation-id" doc:"Names the synthesis, for feedback."`
	ModelVersion  string  `header:"x-model-version" doc:"The model that speaks, with its version."`
	Seed          int64   `header:"x-seed" doc:"The seed that gives the same audio again."`
	ClipID        *string `header:"x-clip-id" doc:"The clip that the result is saved as, when \x60debug\x60 was asked for, or with a session; a reply in JSON has it only if the clip was saved."`
	TimestampsURL *string `header:"x-timestamps-url" format:"uri" doc:"Where the word times can be read, for 10 minutes after the audio has ended."`
	Warning       *string `header:"x-warning" doc:"What of the request could not be done in full."`

	// What the account has used in its period when all of the text is handed over, other replies under way included.
	CharacterCount      int64  `header:"x-character-count" ge:"0" doc:"The characters of the text: Unicode code points."`
	CharactersUsed      int64  `header:"x-characters-used" ge:"0" doc:"What the account has used in its period when all of this text is spoken."`
	CharactersLimit     *int64 `header:"x-characters-limit" ge:"0" doc:"What the plan permits in a period, where that is limited."`
	CharactersRemaining *int64 `header:"x-characters-remaining" ge:"0" doc:"What is left in the period, where that is limited."`

	ConcurrencyCurrent *int `header:"x-concurrency-current" ge:"0" doc:"How many syntheses of the account run now, where that is limited."`
	ConcurrencyLimit   *int `header:"x-concurrency-limit" ge:"0" doc:"How many may run at once, where that is limited."`
}

func (a *API) headers(call *web.Call, order synthesis.Synthesis, reply *synthesis.Reply) headers {
	allowance := reply.Allowance()
	h := headers{
		GenerationID: reply.ID(), ModelVersion: modelVersion(order.Model), Seed: reply.Seed(),
		ClipID: notEmpty(reply.Clip()), Warning: notEmpty(reply.Warning()),
		CharacterCount: reply.Characters(), CharactersUsed: allowance.Settled + allowance.Reserved,
	}
	if id := reply.WordTimes(); id != "" {
		h.TimestampsURL = new(a.Links.WordTimes(call.Header("Host"), id))
	}
	if remaining, limited := allowance.Remaining(); limited {
		h.CharactersLimit, h.CharactersRemaining = allowance.Limit, &remaining
	}
	if current, limit := reply.Concurrency(); limit > 0 {
		h.ConcurrencyCurrent, h.ConcurrencyLimit = &current, &limit
	}
	return h
}

func notEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// modelVersion is the model that speaks, with its version: the request may name one without.
func modelVersion(model string) string {
	switch model {
	case "":
		return port.ModelAurora
	case port.ModelBlizzard:
		return port.ModelBlizzard21
	}
	return model
}
