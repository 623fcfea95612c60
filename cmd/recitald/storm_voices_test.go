package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
)

// voiceChecker checks voices: a voice exists until it is deleted, becomes ready, and is deterministic. A request that
// is repeated with its key creates no second voice, and a deleted voice cannot be used. It has one voice at a time,
// because creating one takes seconds.
type voiceChecker struct {
	stormClient
	c         customer
	recording []byte
	voice     string // "" while there is none
	key       string // of the request that creates it; different for each voice
	said      []byte // the voice's audio; nil before it is ready
	deleting  bool   // a deletion was not confirmed
	gone      []string
	spoken    int
}

func newVoiceChecker(t *testing.T, at *server, v stormClient) *voiceChecker {
	t.Helper()
	return &voiceChecker{stormClient: v, c: at.openAccount("pro"), recording: at.openAccount("enterprise").recorded(t),
		key: "voice-0"}
}

// recorded returns a short recording for a voice.
func (c customer) recorded(t *testing.T) []byte {
	t.Helper()
	spoken := c.post(t, bytesRoute, order{"text": prose(150), "voice": "zeke", "model": "blizzard", "format": "mp3"})
	if spoken.status != http.StatusOK {
		t.Fatalf("no recording: %d %s", spoken.status, spoken.text())
	}
	return spoken.body
}

func (p *voiceChecker) work(at *server, r *rand.Rand) error {
	switch do := r.IntN(40); {
	case p.voice == "":
		return p.make(at)
	case p.deleting, p.said != nil && do == 0:
		return p.delete(at)
	case do < 3 && len(p.gone) > 0:
		return p.requireGone(at, p.gone[r.IntN(len(p.gone))])
	case do < 10:
		return p.speak(at)
	}
	return nil
}

// make creates the voice. It repeats an unanswered request.
func (p *voiceChecker) make(at *server) error {
	request := p.c.at(at).upload([][]byte{p.recording}, "name", "Storm")
	request.Header.Set("Idempotency-Key", p.key)
	answer, err := p.ask(request)
	switch {
	case err != nil, answer.status >= 500, answer.status == http.StatusTooManyRequests,
		answer.status == http.StatusConflict:
		return nil
	case answer.status != http.StatusOK:
		return fmt.Errorf("a voice is not created: %d %s", answer.status, answer.text())
	}
	var v ownVoice
	if err := json.Unmarshal(answer.body, &v); err != nil {
		return fmt.Errorf("the answer %q: %w", answer.text(), err)
	}
	p.voice = v.ID
	return nil
}

// speak synthesises a text and compares the audio with the first one.
func (p *voiceChecker) speak(at *server) error {
	answer, err := p.ask(p.c.at(at).request(http.MethodPost, detailedRoute,
		order{"text": "So foul and fair a day.", "voice": p.voice, "format": "pcm_s16le", "seed": 7}.encode()))
	switch {
	case err != nil, answer.status >= 500, answer.status == http.StatusTooManyRequests:
		return nil
	case answer.status == http.StatusConflict && p.said == nil && answer.header.Get("Retry-After") != "":
		return nil // it is not ready yet
	case answer.status != http.StatusOK:
		return fmt.Errorf("the voice %s does not speak: %d %s", p.voice, answer.status, answer.text())
	}
	var r recording
	if err := json.Unmarshal(answer.body, &r); err != nil {
		return fmt.Errorf("the answer of %d bytes: %w", len(answer.body), err)
	}
	switch sound := []byte(r.Audio); {
	case p.said == nil:
		p.said = sound
	case !bytes.Equal(p.said, sound):
		return fmt.Errorf("the voice %s has other audio than before", p.voice)
	}
	p.spoken++
	return nil
}

func (p *voiceChecker) delete(at *server) error {
	p.deleting = true
	answer, err := p.ask(p.c.at(at).request(http.MethodDelete, voiceRoute+"/"+p.voice, nil))
	switch {
	case err != nil, answer.status >= 500, answer.status == http.StatusTooManyRequests,
		answer.status == http.StatusConflict:
		return nil
	case answer.status == http.StatusOK, answer.status == http.StatusNotFound: // an earlier attempt has deleted it
	default:
		return fmt.Errorf("the voice %s is not deleted: %d %s", p.voice, answer.status, answer.text())
	}
	p.gone = append(p.gone, p.voice)
	p.voice, p.said, p.deleting = "", nil, false
	p.key = fmt.Sprintf("voice-%d", len(p.gone))
	return nil
}

// requireGone returns an error if a deleted voice speaks.
func (p *voiceChecker) requireGone(at *server, id string) error {
	answer, err := p.ask(p.c.at(at).request(http.MethodPost, bytesRoute, order{"text": "Out.", "voice": id}.encode()))
	if err == nil && answer.status == http.StatusOK {
		return fmt.Errorf("the deleted voice %s speaks", id)
	}
	return nil
}

// settle waits until the voice is ready.
func (p *voiceChecker) settle(at []*server, _ books) error {
	for p.deleting {
		if err := p.delete(at[0]); err != nil {
			return err
		}
	}
	for p.voice == "" {
		if err := p.make(at[0]); err != nil {
			return err
		}
	}
	return nil
}

func (p *voiceChecker) check(at *server, _ books) error {
	before := p.spoken
	if err := p.speak(at); err != nil {
		return err
	}
	if p.spoken == before {
		return fmt.Errorf("the voice %s is not ready", p.voice)
	}
	for _, id := range p.gone {
		if err := p.requireGone(at, id); err != nil {
			return err
		}
	}
	answer, err := p.ask(p.c.at(at).request(http.MethodGet, voiceRoute+"/list?owner=me", nil))
	var listed []ownVoice
	if err != nil || answer.status != http.StatusOK || json.Unmarshal(answer.body, &listed) != nil || len(listed) != 1 ||
		listed[0].ID != p.voice {
		return fmt.Errorf("%s has the voice %s, but gets %d %s %v", p.c.id, p.voice, answer.status, answer.text(), err)
	}
	return nil
}

func (p *voiceChecker) String() string {
	return fmt.Sprintf("voices: %d voices deleted, %d times spoken", len(p.gone), p.spoken)
}
