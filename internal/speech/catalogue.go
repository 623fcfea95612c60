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

// Installed describes the installed voice that speaks for a voice: an installed voice itself, a system voice or a
// clone.
type Installed struct {
	ID        string   `json:"id"`        // of the installed voice
	Languages []string `json:"languages"` // engine languages that it speaks; in others, another voice takes its place
	Gain      float64  `json:"gain"`      // dB, brings it to the loudness of all voices
	Moved     *Moved   `json:"moved"`     // turns the voice into its clone; nil for the voice itself
	Base      *Base    `json:"-"`         // nil if it cannot be cloned
}

// Base holds the data for cloning an installed voice.
type Base struct {
	Package string // its SHA-256
	Sound   []byte // its measurements: acoustics.Statistics in JSON
}

// InstalledEngines has the engines of installed voices.
type InstalledEngines interface {
	// Engine returns the engine of a voice and whether it runs here. A clone uses the package that it was made from.
	Engine(of Installed) (Engine, bool)
	// Admit takes a place of a voice that runs here for the listener in ctx, until ctx ends. It does not wait: if no place
	// is free, it returns false, and another voice speaks.
	Admit(ctx context.Context, id string) bool
	// Substituted counts a stream in which another voice replaces an installed one.
	Substituted()
}

// Catalogue holds the voices that are available to every account: the system voices and the installed ones. A nil
// Catalogue holds the system voices. It is safe for concurrent use.
type Catalogue struct{ installed atomic.Pointer[[]Voice] }

// Install replaces the installed voices. An installed voice replaces the system voice with the same id.
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
	voices := c.Voices()
	i := slices.IndexFunc(voices, func(v Voice) bool { return v.ID == id })
	if i < 0 {
		return Voice{}, false
	}
	return voices[i], true
}

// Find is Lookup for an id from a client. Errors: domain.NotFound.
func (c *Catalogue) Find(id string) (Voice, error) {
	voice, found := c.Lookup(id)
	if !found {
		return Voice{}, domain.Refuse(domain.NotFound, "There is no such voice")
	}
	return voice, nil
}

// Listener is the client of one stream.
type Listener struct{ Account string } // "" for none

// listenerKey is the key of the listener in a context.
type listenerKey struct{}

// ListenerOf returns the listener in a context, or nil. The listener's places are released when the context ends.
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
	// Han is read as Pinyin or kana, which an installed voice knows, too.
	isRead := r.Language == mandarin || r.Language == kana
	return spoken{Engine: engine, manyLanguages: isRead, japanese: s.engine.japanese}, true
}

// substitution returns the warning that another voice replaces the requested one, or "".
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

// admit takes places for the installed voices of a request that permits substitutes. It returns the request with the
// voices that will speak, and a warning if one was replaced, or "".
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

// Admitted waits until the first installed voice has a place, and returns ErrEngineBusy (wrapped) if it gets none in
// time. Other errors are left to Next. Admitted must be called before Next.
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

// admission takes the places that a stream needs.
type admission struct {
	speaker *Speaker
	ctx     context.Context
	found   map[string]bool // whether an installed voice has a place for the stream
	lacks   bool            // an installed voice has none
}

// admit returns the voice to use for a voice of a request. Only a system voice and a clone can speak without the
// installed voice.
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

// alone returns a system voice or clone without its installed voice, and false for any other voice.
func (v Voice) alone() (Voice, bool) {
	if v.Timbre != nil {
		v.Installed = nil
		return v, true
	}
	return LookupVoice(v.ID)
}
