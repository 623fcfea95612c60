package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// clipChecker checks clips: a clip that a reply names either could not be saved, or exists unchanged until it is
// deleted.
type clipChecker struct {
	stormClient
	c        customer
	kept     map[string][]byte // by clip: its audio
	named    map[string][]byte // audio of clips named by complete streams, until their saving is known
	gone     []string          // deleted, or not saved
	unsaved  int               // the number of gone clips that were not saved
	doubtful map[string]bool   // clips whose saving or deletion was not confirmed
	unheard  int               // requests to save a clip that got no reply
	known    eventlog.Position // the minimum position of its reads
}

func newClipChecker(at *server, v stormClient) *clipChecker {
	return &clipChecker{
		stormClient: v, c: at.openAccount("pro"), kept: map[string][]byte{}, named: map[string][]byte{},
		doubtful: map[string]bool{},
	}
}

func (p *clipChecker) work(at *server, r *rand.Rand) error {
	switch do := r.IntN(6); {
	case len(p.kept) > 3 && do < 2:
		return p.delete(at, r)
	case do == 2:
		return p.saveWhole(at)
	case do == 3 && len(p.gone) > 0:
		return p.requireGone(at, p.gone[r.IntN(len(p.gone))])
	case do == 4 && len(p.kept) > 0:
		return p.requireKept(at, anyOf(p.kept, r))
	case len(p.named) > 0:
		_, _ = p.learn(at, anyOf(p.named, r)) // it is repeated if there is no answer
		return nil
	}
	p.save(at)
	return nil
}

// anyOf returns a key that depends only on the seed.
func anyOf(from map[string][]byte, r *rand.Rand) string {
	ids := slices.Sorted(maps.Keys(from))
	return ids[r.IntN(len(ids))]
}

// save saves a stream. The reply names the clip before it is saved.
func (p *clipChecker) save(at *server) {
	o := order{"text": prose(80), "voice": "leah", "format": "mp3", "debug": true}
	spoken, err := p.ask(p.c.at(at).request(http.MethodPost, bytesRoute, o.encode()))
	id := spoken.header.Get("X-Clip-Id")
	switch {
	case id == "" && err != nil:
		p.unheard++
	case id == "":
	case err != nil:
		p.doubtful[id] = true
	default:
		p.named[id] = audio.Whole(audio.Spec{Format: audio.MP3, SampleRate: 24000}, spoken.body)
		p.learn(at, id)
	}
}

// learn checks whether a named clip was saved. A clip that is not shown may still be saved.
func (p *clipChecker) learn(at *server, id string) (shown reply, err error) {
	shown, err = p.show(at, id)
	if err == nil && shown.status == http.StatusOK {
		p.kept[id] = p.named[id]
		delete(p.named, id)
	}
	return shown, err
}

// saveWhole saves a JSON reply, which names the clip only if it was saved.
func (p *clipChecker) saveWhole(at *server) error {
	o := order{"text": prose(60), "voice": "leah", "format": "mp3", "debug": true}
	spoken, err := p.ask(p.c.at(at).request(http.MethodPost, detailedRoute, o.encode()))
	id := spoken.header.Get("X-Clip-Id")
	var whole struct{ Audio []byte }
	switch {
	case id == "" && (err != nil || spoken.status >= 500):
		p.unheard++
		return nil
	case id == "":
		return nil
	case err != nil || json.Unmarshal(spoken.body, &whole) != nil:
		p.doubtful[id] = true
		return nil
	}
	p.kept[id] = whole.Audio
	p.hear(spoken)
	return p.requireKept(at, id)
}

// requireKept returns an error if a kept clip is not found. Other failures of an instance do not count.
func (p *clipChecker) requireKept(at *server, id string) error {
	if shown, err := p.show(at, id); err == nil && shown.status == http.StatusNotFound {
		return fmt.Errorf("the clip %s is lost: %s", id, shown.text())
	}
	return nil
}

func (p *clipChecker) requireGone(at *server, id string) error {
	if shown, err := p.show(at, id); err == nil && shown.status == http.StatusOK {
		return fmt.Errorf("the clip %s, which was deleted or not saved, is there", id)
	}
	return nil
}

func (p *clipChecker) delete(at *server, r *rand.Rand) error {
	id := anyOf(p.kept, r)
	answer, err := p.ask(p.c.at(at).request(http.MethodDelete, "/v1/account/clip/"+id, nil))
	switch {
	case err == nil && answer.status == http.StatusOK:
		p.gone = append(p.gone, id)
		p.hear(answer)
		delete(p.kept, id)
	case err == nil && answer.status == http.StatusNotFound:
		return fmt.Errorf("the clip %s is lost", id)
	case err != nil || answer.status >= 500:
		p.doubtful[id] = true
		delete(p.kept, id)
	}
	return nil
}

// show reads a clip at the latest position that the client knows.
func (p *clipChecker) show(at *server, id string) (reply, error) {
	shown, err := p.ask(p.c.at(at).request(http.MethodGet, "/v1/account/clip/"+id, nil, "X-Recital-Min-Position",
		p.known.String()))
	if err == nil {
		p.hear(shown)
	}
	return shown, err
}

// hear records a reply's position.
func (p *clipChecker) hear(of reply) {
	if at, err := eventlog.ParsePosition(of.header.Get("X-Recital-Position")); err == nil && at.Compare(p.known) > 0 {
		p.known = at
	}
}

// settle learns whether the named clips were saved, because all instances have read the whole log.
func (p *clipChecker) settle(at []*server, b books) error {
	p.known = b.head
	for end := time.Now().Add(calm); len(p.named) > 0; {
		if time.Now().After(end) {
			return fmt.Errorf("it is not known whether %d clips of %s were saved", len(p.named), p.c.id)
		}
		for id := range p.named {
			shown, err := p.learn(at[0], id)
			if err == nil && shown.status == http.StatusNotFound {
				p.gone = append(p.gone, id)
				p.unsaved++
				delete(p.named, id)
			}
		}
	}
	return nil
}

func (p *clipChecker) check(at *server, _ books) error {
	for id, sound := range p.kept {
		if err := p.requirePlays(at, id, sound); err != nil {
			return err
		}
	}
	for _, id := range p.gone {
		if answer, err := p.show(at, id); err != nil || answer.status != http.StatusNotFound {
			return fmt.Errorf("the clip %s, which was deleted or not saved, returns %d %v", id, answer.status, err)
		}
	}
	var page clipPage
	err := p.read(p.c.at(at), "/v1/account/clips", &page)
	listed, possible := page.TotalClips, len(p.doubtful)+p.unheard
	if err == nil && (listed < len(p.kept) || listed > len(p.kept)+possible) {
		err = fmt.Errorf("%s has %d clips; want at least %d and at most %d more", p.c.id, listed, len(p.kept), possible)
	}
	return err
}

func (p *clipChecker) requirePlays(at *server, id string, sound []byte) error {
	shown, err := p.show(at, id)
	if err != nil || shown.status != http.StatusOK {
		return fmt.Errorf("the clip %s returns %d %v", id, shown.status, err)
	}
	var c clip
	if err := json.Unmarshal(shown.body, &c); err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodGet, strings.Replace(c.URL, stormPublicURL, at.address, 1), nil)
	if err != nil {
		return err
	}
	played, err := p.ask(request)
	if err != nil || played.status != http.StatusOK || !bytes.Equal(sound, played.body) {
		return fmt.Errorf("the clip %s does not play: %d, %d of %d bytes %v", id, played.status, len(played.body), len(sound),
			err)
	}
	return nil
}

func (p *clipChecker) customers() []customer { return []customer{p.c} }

func (p *clipChecker) String() string {
	return fmt.Sprintf("clips: %d clips kept, %d deleted, %d not saved, %d doubtful, %d unheard", len(p.kept),
		len(p.gone)-p.unsaved, p.unsaved, len(p.doubtful), p.unheard)
}
