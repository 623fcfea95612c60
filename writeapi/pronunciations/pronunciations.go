// Package pronunciations serves the routes of the lists of pronunciations.
package pronunciations

import (
	"errors"
	"time"

	"github.com/recital-tts/recital/commands/pronunciations"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/writeapi"
)

// API changes and shows the accounts' own pronunciations. Its list is not a query of a read model: it is never older
// than the log, as for every synthesis.
type API struct {
	Pronunciations *pronunciations.Pronunciations
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Speech")
	return []web.Route{
		web.Get("/v1/account/pronunciations", a.list, tag, web.Summary("List the pronunciations of words, in pages"),
			web.Description("The list of the account, in the order of addition. Every synthesis of the account "+
				"uses it."),
			web.Returns[listResponse](web.Sends("x-recital-position"))),
		web.Put("/v1/account/pronunciations", a.set, web.FreeChange(), tag, web.Summary("Set the pronunciation of a word"),
			web.Description("Adds a word or phrase to the list, or changes its entry for this language. A "+
				"repetition has no effect. From the reply on, every synthesis of the account uses it."),
			web.Returns[Entry](web.Sends("x-recital-position")), web.Refuses(403)),
		web.Delete("/v1/account/pronunciations/{id}", a.remove, tag, web.Summary("Remove a word from the list"),
			web.Description("The word is spoken by the rules of its language again. Saved clips are unchanged."),
			web.Returns[writeapi.SuccessResponse](web.Sends("x-recital-position")), web.Refuses(404)),
	}
}

// Entry is an entry of a list for clients.
type Entry struct {
	ID        string    `json:"id" doc:"The id of the entry."`
	Word      string    `json:"word" doc:"The word or phrase, as written in texts."`
	Spoken    *string   `json:"spoken" doc:"The respelling, or null."`
	IPA       *string   `json:"ipa" doc:"The phonemes, or null."`
	Language  *string   `json:"language" doc:"The language to which the entry applies, or null for all."`
	UpdatedAt time.Time `json:"updated_at" doc:"When the entry was last changed."`
}

func show(e pronunciations.Entry) Entry {
	return Entry{ID: e.ID, Word: e.Word, Spoken: writeapi.OrNull(e.Spoken), IPA: writeapi.OrNull(e.IPA),
		Language: writeapi.OrNull(e.Language), UpdatedAt: e.At}
}

type listRequest struct {
	Page     int `query:"page" default:"1" gt:"0" doc:"The page, counted from 1." example:"1"`
	PageSize int `query:"page_size" default:"100" gt:"0" le:"1000" doc:"The number of entries in a page." example:"100"`
}

type listResponse struct {
	Pronunciations []Entry `json:"pronunciations" doc:"The entries of the page."`
	Page           int     `json:"page" gt:"0" doc:"The page, counted from 1."`
	PageSize       int     `json:"page_size" gt:"0" doc:"The number of entries in a page."`
	Total          int     `json:"total" ge:"0" doc:"The number of entries on all pages."`
}

func (a *API) list(call *web.Call, in listRequest) (web.Reply, error) {
	all, position, err := a.Pronunciations.List(call, call.Principal.Account)
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(position.String())
	response := listResponse{Pronunciations: []Entry{}, Page: in.Page, PageSize: in.PageSize, Total: len(all)}
	if in.Page-1 <= len(all)/in.PageSize {
		from := (in.Page - 1) * in.PageSize
		for _, e := range all[min(from, len(all)):min(from+in.PageSize, len(all))] {
			response.Pronunciations = append(response.Pronunciations, show(e))
		}
	}
	return web.JSON(response), nil
}

type setRequest struct {
	Word     string  `body:"word" required:"true" minlen:"1" maxlen:"100" doc:"A word or phrase, as written in texts." example:"Nguyen"`
	Spoken   *string `body:"spoken" maxlen:"200" doc:"The respelling that is spoken instead." example:"win"`
	IPA      *string `body:"ipa" maxlen:"200" doc:"Its phonemes in the International Phonetic Alphabet, instead of a respelling; needs a language."`
	Language *string `body:"language" maxlen:"35" doc:"The language to which the entry applies: a code such as \x60en\x60, \x60de\x60 or \x60pt-BR\x60. Without one it applies to every language." example:"en"`
}

func (a *API) set(call *web.Call, in setRequest) (web.Reply, error) {
	said := speech.Pronunciation{
		Word: in.Word, Spoken: writeapi.ValueOr(in.Spoken, ""), IPA: writeapi.ValueOr(in.IPA, ""),
		Language: writeapi.ValueOr(in.Language, ""),
	}
	entry, position, err := a.Pronunciations.Set(call, call.Principal.Account, said, writeapi.Origin(call.Caller))
	if wrong, is := errors.AsType[*speech.PronunciationError](err); is {
		return web.Reply{}, call.Invalid(wrong.Field, wrong.Problem)
	}
	return writeapi.Recorded(call, show(entry), position, err)
}

type removeRequest struct {
	ID string `path:"id" maxlen:"64" doc:"The id of the entry." example:"3f0e0e0a-6f6e-4c0e-9d5a-0c3d1f7f2b11"`
}

func (a *API) remove(call *web.Call, in removeRequest) (web.Reply, error) {
	position, err := a.Pronunciations.Remove(call, call.Principal.Account, in.ID, writeapi.Origin(call.Caller))
	return writeapi.Recorded(call, writeapi.SuccessResponse{Success: true}, position, err)
}
