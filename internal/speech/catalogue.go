package speech

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/recital-tts/recital/domain"
)

// Installed is what makes a voice one that an operator has installed, or for which such a voice speaks.
type Installed struct {
	ID        string   `json:"id"`        // of the voice that the operator has installed
	Languages []string `json:"languages"` // engine languages that it speaks; another voice takes its place in others
	Gain      float64  `json:"gain"`      // dB, to the loudness of all voices
	Moved     *Moved   `json:"moved"`     // what makes a clone of the voice; nil for the voice itself
	Base      *Base    `json:"-"`         // nil for a voice of which no clones are made
}

// Base is what clones are made by of an installed voice.
type Base struct {
	Package string // its SHA-256
	Sound   []byte // what was measured of it: acoustics.Statistics in JSON
}

// InstalledEngines has the engines of installed voices.
type InstalledEngines interface {
	// Engine returns the engine of a voice, and whether it runs here: for a clone, from the package of which that is made.
	Engine(of Installed) (Engine, bool)
	// Admit takes a place of a voice that runs here for the listener of a context, until that ends. It does not wait: if
	// no place is free, it returns false, and another voice speaks.
	Admit(ctx context.Context, id string) bool
	// Substituted is called for each stream in which another voice speaks in the place of one of them.
	Substituted()
}

// Catalogue has the voices that every account may speak with: the system voices, and those that operators have
// installed. A nil one has the system voices. It is safe for concurrent use.
type Catalogue struct{ installed atomic.Pointer[[]Voice] }

// Install replaces the installed voices. One with the id of a system voice takes that one's place.
func (c *Catalogue) Install(voices []Voice) { c.installed.Store(&voices) }

// Voices returns the voices in the order in which they are listed.
func (c *Catalogue) Voices() []Voice {
	voices := Voices()
	if c == nil {
		return voices
	}
	installed := c.installed.Load()
	if installed == nil {
		return voices
	}
	for _, v := range *installed {
		if i := slices.IndexFunc(voices, func(known Voice) bool { return known.ID == v.ID }); i >= 0 {
			voices[i] = v
		} else {
			voices = append(voices, v)
		}
	}
	return voices
}

// IDs returns the ids of the voices.
func (c *Catalogue) IDs() (ids []string) {
	for _, v := range c.Voices() {
		ids = append(ids, v.ID)
	}
	return ids
}

// Lookup returns the voice with an id.
func (c *Catalogue) Lookup(id string) (Voice, bool) {
	return lookup(c.Voices(), id)
}

// Find is Lookup for an id that a client sent. Errors: domain.NotFound.
func (c *Catalogue) Find(id string) (Voice, error) {
	voice, found := c.Lookup(id)
	if !found {
		return Voice{}, domain.Refuse(domain.NotFound, "There is no such voice")
	}
	return voice, nil
}

// Listener is for whom an engine speaks: the client of one stream.
type Listener struct{ Account string } // "" for none

// listenerKey is the key of the listener in a context.
type listenerKey struct{}

// ListenerOf returns the listener for whom an engine speaks; nil if there is none. The listener's places end with the
// context.
func ListenerOf(ctx context.Context) *Listener {
	listener, _ := ctx.Value(listenerKey{}).(*Listener)
	return listener
}

func withListener(ctx context.Context, account string) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithValue(ctx, listenerKey{}, &Listener{Account: account}))
}

// WithInstalled returns a speaker that uses the engines of installed voices.
func (s *Speaker) WithInstalled(engines InstalledEngines) *Speaker {
	with := *s
	with.installed = engines
	return &with
}

// installedEngine returns the engine of a request for an installed voice, if it speaks the language and runs here.
func (s *Speaker) installedEngine(r Request) (Engine, bool) {
	of := r.Voice.Installed
	if of == nil || s.installed == nil || !slices.Contains(of.Languages, r.Language) {
		return nil, false
	}
	engine, found := s.installed.Engine(*of)
	if !found {
		return nil, false
	}
	if of.Moved != nil {
		engine = moving{engine, *of.Moved}
	}
	// Han is read as Pinyin and kana, which such a voice knows, too.
	isRead := r.Language == mandarin || r.Language == kana
	return spoken{Engine: engine, manyLanguages: isRead, japanese: s.engine.japanese}, true
}

// substitution returns the warning about a voice in whose place another one speaks, or "".
func (s *Speaker) substitution(r Request) string {
	if r.Voice.Installed == nil || s.installed == nil {
		return ""
	}
	if _, found := s.installedEngine(r); found {
		return ""
	}
	s.installed.Substituted()
	if !slices.Contains(r.Voice.Installed.Languages, r.Language) {
		return "voice: it does not speak this language, and another one speaks in its place"
	}
	return "voice: it is not ready here, and another one speaks in its place"
}

// admit takes the places of the voices of a request, if voices that are not installed may speak in theirs, and returns
// the request with those that speak, and the warning about it, or "".
func (s *Speaker) admit(ctx context.Context, r Request) (Request, string) {
	if !r.Substitutes || s.installed == nil {
		return r, ""
	}
	asked := admission{speaker: s, ctx: ctx, found: map[string]bool{}}
	voice := r.Voice
	r.Voice = asked.admit(r, voice)
	cast := make(map[string]Voice, len(r.Cast))
	for name, voice := range r.Cast {
		cast[name] = asked.admit(r, voice)
	}
	r.Cast = cast
	if !asked.lacks {
		return r, ""
	}
	s.installed.Substituted()
	return r, "voice: it speaks as much as it can at the moment, and another one speaks in its place"
}

// Admitted waits until the installed voice that speaks first has a place, and returns ErrEngineBusy (wrapped) if it has
// none in time. Next returns all other errors. Admitted must be called before Next.
func (st *Stream) Admitted(ctx context.Context) error {
	cast := slices.AppendSeq([]Voice{st.request.Voice}, maps.Values(st.request.Cast))
	if st.ahead == nil || !slices.ContainsFunc(cast, func(v Voice) bool { return v.Installed != nil }) {
		return nil
	}
	_, err := st.ahead.await(ctx)
	if errors.Is(err, ErrEngineBusy) {
		return fmt.Errorf("waiting for an installed voice: %w", err)
	}
	return nil
}

// admission takes the places of a stream.
type admission struct {
	speaker *Speaker
	ctx     context.Context
	found   map[string]bool // whether an installed voice has a place for the stream
	lacks   bool            // one has none
}

// admit returns the voice that speaks for a voice of a request. Only a system voice and a clone may speak themselves.
func (a *admission) admit(r Request, voice Voice) Voice {
	r.Voice = voice
	alone, can := voice.alone()
	if _, runs := a.speaker.installedEngine(r); !runs || !can {
		return voice
	}
	id := voice.Installed.ID
	found, asked := a.found[id]
	if !asked {
		found = a.speaker.installed.Admit(a.ctx, id)
		a.found[id] = found
	}
	if found {
		return voice
	}
	a.lacks = true
	return alone
}

// alone returns a system voice or a clone as it speaks without an installed voice, and whether the voice is one.
func (v Voice) alone() (Voice, bool) {
	if v.Timbre != nil {
		v.Installed = nil
		return v, true
	}
	return LookupVoice(v.ID)
}
