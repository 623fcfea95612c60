package voices

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	commands "github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
	"github.com/recital-tts/recital/writeapi"
)

const (
	// maxFields is the maximum size of all fields but the files, and of a chunked request.
	maxFields = 1 << 20
	// createTimeout covers the storing of the recordings, and the wait for an instant voice.
	createTimeout = 16 * time.Minute
)

const description = `From 1 to 20 recordings of one speaker (wav, mp3, aac, m4a, mp4, ogg, opus, webm or flac,
recognised by their content). The reply has an instant voice when it is ready or broken, or unfinished after 30 seconds,
and a professional one, which needs five minutes of speech, immediately: its state has the progress. A chunked request,
without an announced length, has at most 1 MiB.`

// profile is a client's description of a voice, in fields of the form or in the field metadata.
type profile struct {
	Name        *string  `body:"name" maxlen:"200" doc:"The name of the voice." example:"My voice"`
	Type        *kind    `body:"type" literal:"instant,professional,intrinsic" doc:"instant by default; intrinsic voices are the system's"`
	Description *string  `body:"description" maxlen:"5000" doc:"The purpose of the voice, in words."`
	Gender      *string  `body:"gender" maxlen:"64" doc:"The gender of the voice, such as F, M or U. U by default." example:"F"`
	Tags        []string `body:"tags" alias:"tags[]" maxitems:"100" maxlen:"64" doc:"Words by which the voice can be found."`
	Enhance     *bool    `body:"enhance" doc:"reduce steady noise in the recordings"`
	Filter      *bool    `body:"filter" doc:"omit unusable stretches of the recordings"`
	Accent      *string  `body:"accent" maxlen:"64" doc:"The accent of the voice, in words."`
}

// kind is a type of voices that can be made.
type kind string

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *kind) UnmarshalText(text []byte) error {
	if *k = kind(text); *k != kind(voice.Instant) && *k != kind(voice.Professional) {
		return errors.New("only the system has intrinsic voices")
	}
	return nil
}

// over returns the profile with its missing fields taken from another.
func (p profile) over(other profile) profile {
	p.Name, p.Type = cmp.Or(p.Name, other.Name), cmp.Or(p.Type, other.Type)
	p.Description = cmp.Or(p.Description, other.Description)
	p.Gender, p.Accent = cmp.Or(p.Gender, other.Gender), cmp.Or(p.Accent, other.Accent)
	p.Enhance, p.Filter = cmp.Or(p.Enhance, other.Enhance), cmp.Or(p.Filter, other.Filter)
	if p.Tags == nil {
		p.Tags = other.Tags
	}
	return p
}

// createRequest has the names that clients of all versions give to the recordings.
type createRequest struct {
	web.IdempotencyKey
	File      []web.File `body:"file" doc:"a recording; fields with the same name are several recordings" example:"the bytes of recording.wav"`
	Files     []web.File `body:"files" doc:"Recordings, as in file."`
	Bracketed []web.File `body:"files[]" doc:"Recordings, as in file."`
	FileField []web.File `body:"file_field" doc:"Recordings, as in file."`
	Metadata  *string    `body:"metadata" maxlen:"65536" doc:"the other fields as a JSON object, for clients of version 1; fields of the form take precedence"`
	profile
}

// room refuses an account that cannot have another voice before its files are received. A request with an idempotency
// key may repeat the one that took the last place.
func (a *API) room(call *web.Call) error {
	if call.Header("Idempotency-Key") != "" {
		return nil
	}
	return a.Voices.Room(call, call.Principal.Account, plan.Type(call.Principal.Plan))
}

func (a *API) creator() func(*web.Call, createRequest) (web.Reply, error) {
	decode := web.Decoder[profile](bind.Variant{})
	return func(call *web.Call, in createRequest) (web.Reply, error) {
		said := in.profile
		if in.Metadata != nil {
			inMetadata, err := decode([]byte(*in.Metadata))
			if err != nil {
				return web.Reply{}, web.Within(err, "metadata")
			}
			said = said.over(inMetadata)
		}
		creation := creationOf(said)
		var err error
		if creation.Files, err = in.files(call); err != nil {
			return web.Reply{}, err
		}
		creation.Account, creation.Plan = call.Principal.Account, plan.Type(call.Principal.Plan)
		if creation.Repetition, err = web.RepetitionOf(call, in); err != nil {
			return web.Reply{}, err
		}
		return a.create(call, creation)
	}
}

// files returns the recordings of all names, after the checks that tags cannot express.
func (r createRequest) files(call *web.Call) (files []commands.File, err error) {
	var wrong []web.Item
	for _, sent := range []struct {
		name  string
		files []web.File
	}{{"file", r.File}, {"files", r.Files}, {"files[]", r.Bracketed}, {"file_field", r.FileField}} {
		for i, file := range sent.files {
			if file.Content.Size() == 0 {
				wrong = append(wrong, call.Wrong(sent.name, fmt.Sprintf("file %d is empty", i+1)))
			}
			files = append(files, commands.File{Upload: file.Content, SHA256: file.SHA256})
		}
	}
	if len(files) == 0 {
		wrong = append(wrong, web.Item{Type: "missing", Loc: []any{"body", "files"}, Msg: "Field required"})
	}
	if len(files) > voice.MaxRecordings {
		wrong = append(wrong, call.Wrong("files", fmt.Sprintf("there are at most %d files", voice.MaxRecordings)))
	}
	if len(wrong) > 0 {
		return nil, web.Invalid(wrong...)
	}
	return files, nil
}

func creationOf(said profile) commands.Creation {
	return commands.Creation{
		Type: voice.Type(writeapi.ValueOr(said.Type, kind(voice.Instant))), Enhance: writeapi.ValueOr(said.Enhance, false),
		Filter: writeapi.ValueOr(said.Filter, false),
		Profile: voice.Profile{
			Name: writeapi.ValueOr(said.Name, ""), Description: writeapi.ValueOr(said.Description, ""),
			Gender: writeapi.ValueOr(said.Gender, "U"), Accent: writeapi.ValueOr(said.Accent, ""), Tags: said.Tags,
		},
	}
}

func (a *API) create(call *web.Call, creation commands.Creation) (web.Reply, error) {
	made, err := a.Voices.Create(call, creation, writeapi.Origin(call.Caller))
	if errors.Is(err, domain.ErrKeyReused) {
		return web.Reply{}, call.Invalid("idempotency-key", "the key was used for a request with other content")
	}
	if err != nil {
		return web.Reply{}, err
	}
	response, err := a.show(call, made)
	return writeapi.Visible(call, a.ReadModels, response, made.Position, err)
}
