// Package voices converts voices to their representation in the API, for the routes that read or change them.
package voices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/speech"
)

// Voice is the record Voice of the API.
type Voice struct {
	ID          string   `json:"id" doc:"The id of the voice, for the parameter voice."`
	Name        string   `json:"name" doc:"The name of the voice."`
	State       string   `json:"state" literal:"preparing,pending,training,ready,broken,cancelled" doc:"How far the voice is. A voice that is ready can speak."`
	Owner       string   `json:"owner" literal:"system,me,all" doc:"Whose voice it is: of the system, or of the account."`
	Type        string   `json:"type" literal:"instant,professional,intrinsic" doc:"How the voice was made. Intrinsic voices come with the service."`
	Description *string  `json:"description" doc:"What the voice is for, in words."`
	Gender      string   `json:"gender" nullable:"true" doc:"The gender of the voice, such as F, M or U."`
	Starred     bool     `json:"starred" nullable:"true" doc:"Whether the account has starred the voice."`
	Tags        []string `json:"tags" nullable:"true" doc:"Words by which the voice can be found."`
	PreviewURL  *string  `json:"preview_url" format:"uri" minlen:"1" doc:"where the voice can be heard, once it is ready"`
	Reason      string   `json:"reason,omitempty" doc:"why the voice is broken"`
}

// Owned is a voice of an account, from the log or the read model.
type Owned struct {
	ID      string
	Account string
	Type    string
	State   string
	Reason  string // why it is broken, or ""
	Sealed  []byte // its voice.Profile in JSON, sealed for voice.SealedFor
	Starred bool
}

// Shower returns voices in their representation in the API.
type Shower struct {
	Keys  keyring.Opener
	Links links.Links
	// nil means only the system voices
	Catalogue *speech.Catalogue
}

// System returns the system voices for a client of a host, which has starred some of them.
func (s Shower) System(host string, starred []string) []Voice {
	var shown []Voice
	for _, v := range s.Catalogue.Voices() {
		preview := s.Links.VoicePreview(host, v.ID)
		shown = append(shown, Voice{
			ID: v.ID, Name: v.Name, State: string(voice.Speaking), Owner: "system", Type: "intrinsic",
			Description: &v.Description, Gender: v.Gender,
			Starred: slices.Contains(starred, v.ID), Tags: []string{}, PreviewURL: &preview,
		})
	}
	return shown
}

// Owned returns a voice for its owner, a client of a host. If the profile's key is gone, the voice has no name.
func (s Shower) Owned(ctx context.Context, host string, v Owned) (Voice, error) {
	profile, err := s.profile(ctx, v)
	if err != nil {
		return Voice{}, err
	}
	shown := Voice{
		ID: v.ID, Name: profile.Name, State: v.State, Owner: "me", Type: v.Type, Gender: profile.Gender,
		Starred: v.Starred, Tags: profile.Tags, Reason: v.Reason,
	}
	if profile.Description != "" {
		shown.Description = &profile.Description
	}
	if shown.Tags == nil {
		shown.Tags = []string{}
	}
	if v.State == string(voice.Speaking) {
		preview := s.Links.OwnedVoicePreview(host, v.ID)
		shown.PreviewURL = &preview
	}
	return shown, nil
}

func (s Shower) profile(ctx context.Context, v Owned) (p voice.Profile, err error) {
	plain, err := s.Keys.Open(ctx, v.Account, v.Sealed, voice.SealedFor(v.ID))
	if keyring.Gone(err) {
		return voice.Profile{}, nil
	}
	if err != nil {
		return voice.Profile{}, fmt.Errorf("reading a voice: %w", err)
	}
	if json.Unmarshal(plain, &p) != nil {
		// the cause might quote the profile
		return voice.Profile{}, errors.New("reading a voice: what was sealed is not a voice's profile")
	}
	return p, nil
}
