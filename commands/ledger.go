package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
)

const (
	// appendTimeout bounds one append of a ledger and its repeats, whoever waits for it.
	appendTimeout = 10 * time.Second
	// cachedLedgers and cachedPeriods bound the memory of a Ledger: about 1 KiB each.
	cachedLedgers = 10_000
	cachedPeriods = 10_000
)

// Ledger keeps the characters that accounts use. The commands of one period queue here and share one append, so that
// an account with many streams at once does not conflict with itself.
type Ledger struct {
	journal Journal
	now     func() time.Time
	// longest is how long a stream can last; a reservation that is not settled by then expires.
	longest time.Duration

	mu      sync.Mutex
	closed  bool
	working map[string]*queue                 // by stream: those with tasks, so that a stream has one at a time
	idle    *lru.Cache[string, *queue]        // by stream: the others, for their states
	periods *lru.Cache[string, accountPeriod] // by account: the one that holds now
	running sync.WaitGroup                    // queues at work
}

type accountPeriod struct {
	stream string
	open   ledger.OpenPeriod
}

// Reservation is a number of characters set aside for a reply.
type Reservation struct {
	ID         uuid.UUID
	Account    string
	Characters int64
	Actor      eventlog.Actor
	// Allowance is the account's right after the reservation, which it counts as reserved. What other instances did
	// meanwhile is in it, too; what others did later is not.
	Allowance ledger.Allowance
	stream    string
}

// NewLedger makes a Ledger for streams that last longest at most.
func NewLedger(journal Journal, now func() time.Time, longest time.Duration) (*Ledger, error) {
	idle, err := lru.New[string, *queue](cachedLedgers)
	if err != nil {
		return nil, fmt.Errorf("making the cache of ledgers: %w", err)
	}
	periods, err := lru.New[string, accountPeriod](cachedPeriods)
	if err != nil {
		return nil, fmt.Errorf("making the cache of periods: %w", err)
	}
	return &Ledger{
		journal: journal, now: now, longest: longest,
		working: map[string]*queue{}, idle: idle, periods: periods,
	}, nil
}

// Close waits for the appends that are under way. Later commands are refused with domain.Unavailable.
func (l *Ledger) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
}

// Reserve sets characters aside in the account's period of now. It refuses with domain.PaymentRequired what does not
// fit a plan that is not metered and the credit beside it. After an error that is no refusal the reservation that it
// returns may have been made all the same, so it is to be given back.
func (l *Ledger) Reserve(ctx context.Context, account string, characters int64, actor eventlog.Actor) (Reservation, error) {
	now := l.now().UTC()
	period, err := l.period(ctx, account, now)
	if err != nil {
		return Reservation{}, err
	}
	r := Reservation{ID: uuid.New(), Account: account, Characters: characters, Actor: actor}
	reserve := ledger.Reserve{Reservation: r.ID.String(), Characters: characters, At: now, ExpiresAt: now.Add(l.longest)}
	done, err := l.submitNow(ctx, period, task{
		order:    Order{Command: r.ID, Correlation: r.ID, Actor: actor, At: now},
		commands: []decider[ledger.State, ledger.Event]{reserve},
	})
	if refused(err) {
		return Reservation{}, err
	}
	r.stream, r.Allowance = done.stream, done.state.Allowance()
	return r, err
}

// submitNow carries a task out in a period, which it opens. Where another instance, whose clock is ahead, has ended the
// period, it goes on to the one after: what the log says counts, and not what the clock says.
func (l *Ledger) submitNow(ctx context.Context, period accountPeriod, t task) (outcome, error) {
	then := t.commands
	for {
		t.commands = append([]decider[ledger.State, ledger.Event]{period.open}, then...)
		done, err := l.submit(ctx, period.stream, t)
		if !errors.Is(err, ledger.ErrOver) {
			return done, err
		}
		if period, err = l.periodAt(ctx, period.open.Account, done.state.CarriedTo); err != nil {
			return outcome{}, err
		}
	}
}

// refused tells whether an error is the domain's: then it is certain that nothing was written.
func refused(err error) bool {
	return err != nil && domain.CodeOf(err) != "" && !errors.Is(err, eventlog.ErrUnavailable)
}

// Settle ends a reservation with the characters that were handed over, and tells where in the log. A reservation that
// has expired meanwhile stays at zero.
func (l *Ledger) Settle(ctx context.Context, r Reservation, characters int64) (eventlog.Position, error) {
	done, err := l.submit(ctx, r.stream, l.settlement(r, characters))
	return done.position, err
}

// GiveBack settles a reservation at zero without waiting for it: Close does. Where nothing was reserved it has no
// effect; where it fails, the reservation expires.
func (l *Ledger) GiveBack(r Reservation) {
	if r.stream == "" {
		return
	}
	t := l.settlement(r, 0)
	t.ctx = context.Background() // the queue bounds it
	t.done = make(chan outcome, 1)
	l.enqueue(r.stream, t)
}

func (l *Ledger) settlement(r Reservation, characters int64) task {
	now := l.now().UTC()
	return task{
		// An id of its own: with one that derives from the reservation, the log would take a second settlement with
		// another number, of an instance that is behind, for a repetition of the first.
		order:    Order{Command: uuid.New(), Correlation: r.ID, Actor: r.Actor, At: now},
		commands: []decider[ledger.State, ledger.Event]{ledger.Settle{Reservation: r.ID.String(), Characters: characters, At: now}},
	}
}

// period finds the account's period of now. It reads the account only when the one that it knows is over.
func (l *Ledger) period(ctx context.Context, id string, now time.Time) (accountPeriod, error) {
	if known, ok := l.periods.Get(id); ok && now.Before(known.open.End) {
		return known, nil
	}
	p, err := l.periodAt(ctx, id, now)
	if err == nil {
		l.periods.Add(id, p)
	}
	return p, err
}

// periodAt reads the account for its period at a time.
func (l *Ledger) periodAt(ctx context.Context, id string, at time.Time) (accountPeriod, error) {
	state, _, err := load(ctx, l.journal, accountStream(id), account.Evolve)
	if err != nil {
		return accountPeriod{}, err
	}
	if !state.Exists() {
		return accountPeriod{}, domain.Refuse(domain.NotFound, "the account does not exist")
	}
	terms, err := plan.Lookup(state.Plan)
	if err != nil {
		return accountPeriod{}, err
	}
	begin, end := plan.MonthlyPeriod(state.OpenedAt, at)
	return accountPeriod{
		stream: usageStream(id, begin),
		open:   ledger.OpenPeriod{Account: id, Plan: terms, Start: begin, End: end},
	}, nil
}

func usageStream(account string, start time.Time) string {
	return fmt.Sprintf("usage-%s-%d", account, start.Unix())
}

// submit queues a task and waits for its outcome. A task whose ctx has ended before its turn is left out.
func (l *Ledger) submit(ctx context.Context, stream string, t task) (outcome, error) {
	t.ctx = ctx
	t.done = make(chan outcome, 1)
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
		q = &queue{ledger: l, stream: stream}
	}
	l.idle.Remove(stream)
	l.working[stream] = q
	q.waiting = append(q.waiting, t)
	l.running.Go(q.work)
	return true
}

// next takes tasks from a queue that works. The queue rests when there are none.
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
