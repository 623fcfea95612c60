package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/todo"
)

// afterReply is the pause of a closing while replies of the account are being settled.
const afterReply = 2 * time.Second

// EndFor ends and closes the periods of a closed account that may have an overage, and returns the overages that remain
// to be billed, as items of the to-do list of overages. It can be repeated. While reservations are open the error is a
// *todo.NotYetError.
func (l *Ledger) EndFor(ctx context.Context, id string) ([]todo.Item, error) {
	now := l.now().UTC()
	state, err := l.account(ctx, id)
	if err != nil {
		return nil, err
	}
	l.periods.Remove(id)
	streams, err := l.endAll(ctx, state, now)
	if err != nil {
		return nil, err
	}
	var due []todo.Item
	for _, stream := range streams {
		unbilled, err := l.closeEnded(ctx, stream, now)
		if err != nil {
			return nil, err
		}
		due = append(due, unbilled...)
	}
	return due, nil
}

// endAll ends the periods of an account that may have an overage, and returns their streams. A metered one that was
// never opened is opened first, so that an instance which has read the account before finds that it has ended.
func (l *Ledger) endAll(ctx context.Context, state account.State, now time.Time) (streams []string, err error) {
	current, err := l.periodOf(ctx, state, now)
	if err != nil {
		return nil, err
	}
	for _, former := range state.Formers(current.open.Start) {
		stream := ledger.Stream(state.Account, former.Start)
		if err := l.end(ctx, state, former, now, journal.DeriveID(stream, "closing")); err != nil {
			return nil, err
		}
		streams = append(streams, stream)
	}
	if !current.open.Plan.Metered {
		return append(streams, current.stream), nil
	}
	to := now
	// if the local clock is behind the provider's, or in the first second of the period
	if to.Unix() <= current.open.Start.Unix() {
		to = current.open.Start.Add(time.Second)
	}
	end := journal.Sequence[ledger.State, ledger.Event]{Evolve: ledger.Evolve,
		Commands: []command{current.open, ledger.End{To: to, At: now}}}
	_, err = l.submit(ctx, current.stream, end,
		journal.System().Metadata(journal.DeriveID(current.stream, "closing"), now))
	return append(streams, current.stream), err
}

// closeEnded closes a period that has ended on metered terms, and returns its unbilled overages.
func (l *Ledger) closeEnded(ctx context.Context, stream string, now time.Time) (due []todo.Item, err error) {
	done, err := l.look(ctx, stream, now)
	if err != nil {
		return nil, err
	}
	closing := journal.DeriveID(stream, "closed")
	if s := done.state; s.Terms.Metered && s.Over() && !s.Closed() {
		done, err = l.submit(ctx, stream, ledger.Close{To: s.NextStart, At: now}, journal.System().Metadata(closing, now))
		if err != nil {
			return nil, err
		}
		if !done.state.Closed() {
			return nil, &todo.NotYetError{After: afterReply}
		}
	}
	for _, o := range done.state.Overages {
		if !o.Billed {
			id := fmt.Sprintf("%s/%d", stream, o.Version)
			due = append(due, todo.Item{ID: id, Stream: stream, Cause: journal.EventID(closing)})
		}
	}
	return due, nil
}
