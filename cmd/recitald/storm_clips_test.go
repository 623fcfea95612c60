package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/recital-tts/recital/internal/audio"
)

// collector promises for clips: a clip that was shown stays as it is until it is deleted, and is gone then.
type collector struct {
	visitor
	c        customer
	kept     map[string][]byte // by clip: its audio
	deleted  []string
	doubtful map[string]bool // clips whose saving or deletion was not confirmed
}

func newCollector(at *server, v visitor) *collector {
	return &collector{visitor: v, c: at.openAccount("pro"), kept: map[string][]byte{}, doubtful: map[string]bool{}}
}

func (p *collector) work(at *server, r *rand.Rand) error {
	if len(p.kept) > 3 && r.IntN(3) == 0 {
		return p.delete(at, r)
	}
	return p.save(at)
}

// save has a result saved, and looks whether it is there.
func (p *collector) save(at *server) error {
	o := order{"text": prose(80), "voice": "leah", "format": "mp3", "debug": true}
	spoken, err := p.ask(p.c.at(at).request(http.MethodPost, bytesRoute, o.encode()))
	id := spoken.header.Get("X-Clip-Id")
	if id == "" {
		return nil
	}
	p.doubtful[id] = true
	if err != nil {
		return nil
	}
	shown, err := p.show(at, id)
	if err != nil || shown.status != http.StatusOK {
		return nil
	}
	delete(p.doubtful, id)
	p.kept[id] = audio.Whole(audio.Spec{Format: audio.MP3, SampleRate: 24000}, spoken.body)
	return nil
}

func (p *collector) delete(at *server, r *rand.Rand) error {
	ids := p.ids()
	id := ids[r.IntN(len(ids))]
	answer, err := p.ask(p.c.at(at).request(http.MethodDelete, "/v1/account/clip/"+id, nil))
	switch {
	case err == nil && answer.status == http.StatusOK:
		p.deleted = append(p.deleted, id)
		delete(p.kept, id)
	case err == nil && answer.status == http.StatusNotFound:
		return fmt.Errorf("the clip %s is lost", id)
	case err != nil || answer.status >= 500:
		p.doubtful[id] = true
		delete(p.kept, id)
	}
	return nil
}

// ids returns the kept clips in an order that depends on the seed alone.
func (p *collector) ids() []string {
	var ids []string
	for id := range p.kept {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (p *collector) show(at *server, id string) (reply, error) {
	return p.ask(p.c.at(at).request(http.MethodGet, "/v1/account/clip/"+id, nil))
}

func (p *collector) settle([]*server, books) error { return nil }

func (p *collector) check(at *server, _ books) error {
	for id, sound := range p.kept {
		if err := p.requirePlays(at, id, sound); err != nil {
			return err
		}
	}
	for _, id := range p.deleted {
		if answer, err := p.show(at, id); err != nil || answer.status != http.StatusNotFound {
			return fmt.Errorf("the deleted clip %s is answered with %d %v", id, answer.status, err)
		}
	}
	listed, err := p.listed(at)
	if err == nil && (listed < len(p.kept) || listed > len(p.kept)+len(p.doubtful)) {
		err = fmt.Errorf("%s has %d clips; %d are surely kept and %d possibly", p.c.id, listed, len(p.kept), len(p.doubtful))
	}
	return err
}

func (p *collector) requirePlays(at *server, id string, sound []byte) error {
	shown, err := p.show(at, id)
	if err != nil || shown.status != http.StatusOK {
		return fmt.Errorf("the clip %s is answered with %d %v", id, shown.status, err)
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
		return fmt.Errorf("the clip %s does not play: %d, %d of %d bytes %v", id, played.status, len(played.body), len(sound), err)
	}
	return nil
}

func (p *collector) listed(at *server) (total int, err error) {
	answer, err := p.ask(p.c.at(at).request(http.MethodGet, "/v1/account/clips", nil))
	if err != nil || answer.status != http.StatusOK {
		return 0, fmt.Errorf("the clips of %s are answered with %d %v", p.c.id, answer.status, err)
	}
	var page clipPage
	err = json.Unmarshal(answer.body, &page)
	return page.TotalClips, err
}

func (p *collector) customers() []customer { return []customer{p.c} }

func (p *collector) String() string {
	return fmt.Sprintf("collector: %d clips kept, %d deleted, %d doubtful", len(p.kept), len(p.deleted), len(p.doubtful))
}
