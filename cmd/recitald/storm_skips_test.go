package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// skipChecker checks skips: after an event that may have revoked a key is skipped, the key is refused until an operator
// confirms that it is valid.
type skipChecker struct {
	stormClient
	c         customer
	log       func() esdb.Config
	event     uuid.UUID
	revision  *uint64   // of the event in the account's stream; nil until the log has it
	since     time.Time // the time of the skip's acknowledgement
	refused   int       // the number of refusals since then
	confirm   bool      // the confirmation was sent
	confirmed bool      // and acknowledged
}

// refusedOften is the number of refusals before the skip is confirmed.
const refusedOften = 20

func newSkipChecker(w *world, at *server, v stormClient) *skipChecker {
	return &skipChecker{stormClient: v, c: at.openAccount("indie"), log: w.log, event: uuid.New()}
}

func (p *skipChecker) work(at *server, r *rand.Rand) error {
	switch {
	case p.revision == nil:
		if r.IntN(100) == 0 {
			p.spoil()
		}
		return nil
	case p.since.IsZero():
		return p.skip(at)
	case p.refused >= refusedOften && !p.confirmed:
		return p.confirmSkip(at)
	}
	asked := time.Now()
	switch status := p.asks(p.c.at(at)); {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%s gets 401 with a valid key", p.c.id)
	case status == http.StatusOK && !p.confirm && asked.Sub(p.since) > revocationTakes:
		return fmt.Errorf("%s is admitted, although a skipped event may have revoked its key", p.c.id)
	case status == http.StatusServiceUnavailable:
		p.refused++
	}
	return nil
}

// spoil appends an event of an unknown type and records its revision once it is in the log.
func (p *skipChecker) spoil() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	log, err := esdb.Open(p.log())
	if err != nil {
		return
	}
	defer log.Close()
	stream, end := "account-"+p.c.id, eventlog.NoStream
	for event, err := range log.ReadStream(ctx, stream, 0) {
		if err != nil {
			return
		}
		if event.ID == p.event {
			p.revision = &event.Revision
			return
		}
		end = eventlog.Revision(event.Revision)
	}
	event := eventlog.Proposed{ID: p.event, Type: "account-adopted", Data: []byte(`{}`), Metadata: []byte(ofANewerRelease)}
	if appended, err := log.Append(ctx, stream, end, []eventlog.Proposed{event}); err == nil {
		revision := uint64(appended.Revision)
		p.revision = &revision
	}
}

// act sends an operator's command with a reason. done is false unless the answer confirms it.
func (p *skipChecker) act(at *server, path string, body any) (done bool, err error) {
	sent, _ := json.Marshal(body)
	request := at.adminRequest(http.MethodPost, path, string(sent))
	request.Header.Set("x-recital-reason", "a storm")
	answer, failed := p.ask(request)
	switch {
	case failed != nil || answer.status >= 500:
		return false, nil
	case answer.status != http.StatusOK:
		return false, fmt.Errorf("%s returns %d: %s", path, answer.status, answer.text())
	}
	return true, nil
}

func (p *skipChecker) skip(at *server) error {
	body := map[string]any{"event_id": p.event, "stream": "account-" + p.c.id, "revision": *p.revision}
	done, err := p.act(at, "/admin/skips", body)
	if done {
		p.since = time.Now()
	}
	return err
}

// confirmSkip may reach an instance that has not read the skip yet.
func (p *skipChecker) confirmSkip(at *server) (err error) {
	p.confirm = true
	p.confirmed, err = p.act(at, "/admin/skips/"+p.event.String()+"/confirm", struct{}{})
	return err
}

func (p *skipChecker) settle(at []*server, _ books) error {
	if p.revision == nil {
		p.spoil()
	}
	if p.revision == nil {
		return fmt.Errorf("the stream of %s takes no event", p.c.id)
	}
	for _, do := range []func(*server) error{p.skip, p.confirmSkip} {
		if err := do(at[0]); err != nil {
			return err
		}
	}
	if p.since.IsZero() || !p.confirmed {
		return fmt.Errorf("event %s of %s is not skipped and confirmed", p.event, p.c.id)
	}
	return nil
}

func (p *skipChecker) check(at *server, _ books) error {
	if status := p.asks(p.c.at(at)); status != http.StatusOK {
		return fmt.Errorf("%s gets %d after the confirmation of its skipped event", p.c.id, status)
	}
	return nil
}

func (p *skipChecker) String() string {
	return fmt.Sprintf("an event was skipped, and its account refused %d times", p.refused)
}
