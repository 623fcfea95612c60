// Package ledger accounts for the characters that accounts use: they are reserved before any audio is sent, and
// settled with the delivered number. It is independent of audio.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

const (
	// appendTimeout bounds one append of a ledger, including retries, independently of its callers.
	appendTimeout = 10 * time.Second
	// cachedPeriods bounds the memory of a Ledger, in states and in accounts: about 1 KiB each.
	cachedPeriods = 10_000
)

// Ledger accounts for the characters that accounts use. The commands of one period are queued and share one append,
// so that an account with many concurrent streams does not conflict with itself.
type Ledger struct {
	journal  *journal.Journal
	accounts Accounts
	now      func() time.Time
	longest  time.Duration
	draw     func(account string) uuid.UUID // ids of reservations
	seen     *sightings
	rates    Rates

	mu      sync.Mutex
	closed  bool
	working map[string]*queue                 // by stream: those with tasks, so that each stream has one queue
	idle    *lru.Cache[string, *queue]        // by stream: the others, cached for their states
	periods *lru.Cache[string, accountPeriod] // by account: the current one
	running sync.WaitGroup                    // running queues
}

// Accounts reads accounts. Their entitlements determine their periods.
type Accounts interface {
	State(ctx context.Context, id string) (account.State, eventlog.Revision, error)
	// SetSpendingCap sets the spending cap of an account, or removes it.
	SetSpendingCap(ctx context.Context, id string, amount *int64, currency string, origin journal.Origin) error
}

// Reservation is a number of characters reserved for a reply.
type Reservation struct {
	ID         uuid.UUID
	Account    string
	Characters int64
	// Allowance is the account's allowance directly after the reservation, which it includes as reserved. It includes
	// earlier commands of other instances, and excludes later ones.
	Allowance Allowance
	origin    journal.Origin
	stream    string
}

// Allowance is an account's limit and usage in a period.
type Allowance = ledger.Allowance

// New returns a Ledger. A reservation that is not settled within the time longest expires.
func New(j *journal.Journal, accounts Accounts, now func() time.Time, longest time.Duration) *Ledger {
	idle, _ := lru.New[string, *queue](cachedPeriods) // fails for a size below 1
	periods, _ := lru.New[string, accountPeriod](cachedPeriods)
	return &Ledger{
		journal: j, accounts: accounts, now: now, longest: longest, draw: func(string) uuid.UUID { return uuid.New() },
		seen: newSightings(), rates: noRates,
		working: map[string]*queue{}, idle: idle, periods: periods,
	}
}

// NameBy sets the source of the ids of reservations, which are random by default. It is called before the first
// reservation.
func (l *Ledger) NameBy(draw func(account string) uuid.UUID) { l.draw = draw }

// MeasureBy sets the monotonic clock that measures the time since reservations were first seen. It is called before the
// first reservation.
func (l *Ledger) MeasureBy(elapsed func() time.Duration) { l.seen.elapsed = elapsed }

// LongestReservation returns the time after which a reservation expires.
func (l *Ledger) LongestReservation() time.Duration { return l.longest }

// Close waits for the appends in progress. Later commands are refused with domain.Unavailable.
func (l *Ledger) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
}

// Reserve reserves characters in the account's current period. It refuses with domain.PaymentRequired characters beyond
// plan and credit, if the plan is not metered. After an error other than a refusal, the returned reservation may exist
// nevertheless, so the caller must give it back.
func (l *Ledger) Reserve(
	ctx context.Context, account string, characters int64, origin journal.Origin,
) (Reservation, error) {
	now := l.now().UTC()
	period, err := l.period(ctx, account, now)
	if err != nil {
		return Reservation{}, err
	}
	r := Reservation{ID: l.draw(account), Account: account, Characters: characters, origin: origin}
	reserve := ledger.Reserve{
		Reservation: r.ID.String(), Characters: characters, Source: sourceOf(origin), At: now, ExpiresAt: now.Add(l.longest),
	}
	done, err := l.submitNow(ctx, period, reserve, origin.Metadata(r.ID, now))
	if domain.CodeOf(err) == domain.PaymentRequired {
		done, err = l.submitFresh(ctx, period, reserve, origin.Metadata(r.ID, now), err)
	}
	if refused(err) {
		return Reservation{}, err
	}
	r.stream, r.Allowance = done.stream, done.state.Allowance()
	return r, err
}

// sourceOf returns the source of an origin's usage: sessions belong to browsers.
func sourceOf(origin journal.Origin) ledger.Source {
	if origin.Actor.Session != "" {
		return ledger.Playground
	}
	return ledger.API
}

// refused reports whether an error is the domain's, so that no event was written.
func refused(err error) bool {
	return err != nil && domain.CodeOf(err) != "" && !errors.Is(err, eventlog.ErrUnavailable)
}

// Settle ends a reservation with the number of characters that were delivered, and returns its position in the log. A
// reservation that has already expired remains at zero.
func (l *Ledger) Settle(ctx context.Context, r Reservation, characters int64) (eventlog.Position, error) {
	settle, meta := l.settlement(r, characters)
	done, err := l.submit(ctx, r.stream, settle, meta)
	return done.position, err
}

// GiveBack settles a reservation at zero without waiting for it; Close waits. It has no effect on the zero Reservation.
// If it fails, the reservation expires.
func (l *Ledger) GiveBack(r Reservation) {
	if r.stream == "" {
		return
	}
	settle, meta := l.settlement(r, 0)
	l.enqueue(r.stream, task{
		ctx:     context.Background(), // bounded by the queue
		command: settle, meta: meta, done: make(chan outcome, 1),
	})
}

// settlement returns the command with a random id: if it derived from the reservation, the log would take a second
// settlement with another number, from an instance that is behind, for a repetition of the first.
func (l *Ledger) settlement(r Reservation, characters int64) (ledger.Settle, journal.Metadata) {
	now := l.now().UTC()
	origin := r.origin
	origin.Causation = r.ID
	return ledger.Settle{Reservation: r.ID.String(), Characters: characters, At: now}, origin.Metadata(uuid.New(), now)
}

// submit queues a command and waits for its outcome. A command is skipped if its ctx ends in the queue.
func (l *Ledger) submit(ctx context.Context, stream string, c command, meta journal.Metadata) (outcome, error) {
	ctx, running := l.journal.Begin(ctx)
	done, err := l.await(ctx, stream, task{ctx: ctx, command: c, meta: meta, done: make(chan outcome, 1)})
	running.End(journal.NameOf(c), done.conflicts, err)
	return done, err
}

func (l *Ledger) await(ctx context.Context, stream string, t task) (outcome, error) {
	if !l.enqueue(stream, t) {
		return outcome{stream: stream}, domain.Refuse(domain.Unavailable, "The server is shutting down")
	}
	select {
	case o := <-t.done:
		o.stream = stream
		return o, o.err
	case <-ctx.Done():
		return outcome{stream: stream}, fmt.Errorf("waiting for the ledger: %w", ctx.Err())
	}
}

func (l *Ledger) enqueue(stream string, t task) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if q, ok := l.working[stream]; ok {
		q.waiting = append(q.waiting, t)
		return true
	}
	q, ok := l.idle.Get(stream)
	if !ok {
		q = newQueue(l, stream)
	}
	l.idle.Remove(stream)
	l.working[stream] = q
	q.waiting = append(q.waiting, t)
	l.running.Go(q.work)
	return true
}

// next takes tasks from a running queue. A queue without tasks stops.
func (l *Ledger) next(q *queue) []task {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(q.waiting), maxBatch)
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if n == 0 {
		q.waiting = nil
		delete(l.working, q.stream)
		l.idle.Add(q.stream, q)
	}
	return batch
}
