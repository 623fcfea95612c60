package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/pages"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

// group is the members that stand at one position. They have one handler, and commit a page in one transaction.
type group struct {
	session *session
	handler *message.Handler

	lock    chan struct{} // held while a page is handled, or while the members' leases are looked after
	members []*member     // changed under the lock and the session's mutex; read under either
}

// handle is the Watermill handler. When it returns nil, and so acknowledges, the page is committed.
func (g *group) handle(msg *message.Message) error {
	page, ok := pages.From(msg.Context())
	if !ok {
		return errors.New("the message carries no page")
	}
	err := g.process(msg.Context(), page)
	if errors.Is(err, errMoved) {
		return context.Canceled // the session has ended, and the next one reads the page again
	}
	return err
}

func (g *group) process(ctx context.Context, page pages.Page) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	joined, err := g.catchUp(ctx, page)
	if err != nil || joined {
		return err
	}
	return g.advance(ctx, page)
}

func (g *group) acquire(ctx context.Context) error {
	select {
	case g.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryAcquire acquires the lock only when no page is being handled.
func (g *group) tryAcquire() bool {
	select {
	case g.lock <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g *group) release() { <-g.lock }

// catchUp joins the next group ahead if this page reaches it. The group ahead is held at its position meanwhile, so both
// are at the same one when the members move.
func (g *group) catchUp(ctx context.Context, page pages.Page) (joined bool, err error) {
	ahead, position := g.session.nextAhead(g)
	if ahead == nil || page.Last().Compare(position) < 0 {
		return false, nil
	}
	if err := ahead.acquire(ctx); err != nil {
		return false, err
	}
	defer ahead.release()
	position, alive := g.session.positionOf(ahead)
	if !alive || page.Last().Compare(position) < 0 {
		return false, nil
	}
	upTo, _ := page.Split(position)
	if err := g.advance(ctx, upTo); err != nil {
		return false, err
	}
	return g.session.join(g, ahead), nil
}

// advance applies a page to all members and commits it.
func (g *group) advance(ctx context.Context, page pages.Page) error {
	if len(g.members) == 0 {
		return nil
	}
	if page = page.After(g.members[0].position); len(page.Events) > 0 {
		if err := g.apply(ctx, page.Events); err != nil {
			return err
		}
	}
	return nil
}

// apply writes the events for all members in one transaction. If an event spoils that, each member goes on by itself.
func (g *group) apply(ctx context.Context, events []eventlog.Decoded) error {
	err := g.write(ctx, g.members, events)
	if err == nil || transient(err) || errors.Is(err, errMoved) {
		return err
	}
	return g.isolate(ctx, events)
}

// write turns the events into rows and commits them with the members' checkpoints, which all stand at one position. It
// repeats transient failures. When it returns nil the members stand at the last event.
func (g *group) write(ctx context.Context, members []*member, events []eventlog.Decoded) error {
	p := newPageWrite(members, events)
	for _, m := range members {
		rows, err := m.turnedInto(events)
		if err != nil {
			return err
		}
		p.rows = append(p.rows, rows)
	}
	return g.writePage(ctx, p)
}

// writePage commits a page, and repeats transient failures.
func (g *group) writePage(ctx context.Context, p *pageWrite) error {
	err := persist(ctx, g.session.logger, "committing a page", func() error { return g.commit(ctx, p) })
	if errors.Is(err, errMoved) {
		err = g.session.explain(ctx, p)
	}
	if err != nil {
		return err
	}
	g.session.moved(p)
	return g.session.fault("published")
}

// pageWrite is what is written for one page.
type pageWrite struct {
	members  []*member
	events   []eventlog.Decoded
	rows     []pageRows // of each member
	from, to eventlog.Position
	began    time.Time
}

func newPageWrite(members []*member, events []eventlog.Decoded) *pageWrite {
	return &pageWrite{
		members: members, events: events, from: members[0].position, to: events[len(events)-1].Position, began: time.Now(),
	}
}

// foreign counts the events without a value, which are those of foreign streams.
func (p *pageWrite) foreign() int {
	n := 0
	for _, event := range p.events {
		if event.Event == nil {
			n++
		}
	}
	return n
}

func (p *pageWrite) count() int {
	n := 0
	for _, rows := range p.rows {
		n += rows.Count()
	}
	return n
}

// commit is one attempt. The checkpoints move first: that takes their row locks and fences out another projector before
// any row of a read model changes.
func (g *group) commit(ctx context.Context, p *pageWrite) error {
	err := inRelaxedTransaction(ctx, g.session.checkpoints.db, func(tx pgx.Tx) error {
		if err := g.session.fault("begun"); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		g.session.checkpoints.queueMove(batch, p.members, p.from, p.to, len(p.events))
		for i, m := range p.members {
			for _, w := range m.writers {
				w.Queue(batch, p.rows[i].Rows)
			}
			queueParked(batch, m, p.rows[i].parked)
		}
		if err := send(ctx, tx, batch, len(p.members)); err != nil {
			return err
		}
		return g.session.fault("written")
	})
	if err != nil {
		return err
	}
	return g.session.fault("committed")
}

// send runs the batch, whose first statement must move that many checkpoints.
func send(ctx context.Context, tx pgx.Tx, batch *pgx.Batch, checkpoints int) error {
	results := tx.SendBatch(ctx, batch)
	tag, err := results.Exec()
	if err == nil && tag.RowsAffected() != int64(checkpoints) {
		err = errMoved
	}
	if err != nil {
		_ = results.Close() // the first error counts
		return err
	}
	return results.Close()
}

// isolate lets each member apply the events by itself. A member that still fails goes event by event until it meets
// the poison event, which it parks if it may; otherwise it stops there.
func (g *group) isolate(ctx context.Context, events []eventlog.Decoded) error {
	for _, m := range slices.Clone(g.members) {
		if err := g.applyAlone(ctx, m, events); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) applyAlone(ctx context.Context, m *member, events []eventlog.Decoded) error {
	alone := []*member{m}
	err := g.write(ctx, alone, events)
	if err == nil || transient(err) || errors.Is(err, errMoved) {
		return err
	}
	for i, event := range events {
		err := g.write(ctx, alone, events[i:i+1])
		if err == nil {
			continue
		}
		if transient(err) || errors.Is(err, errMoved) {
			return err
		}
		if err := g.session.requireCheckpoint(ctx, m); err != nil {
			return err
		}
		if stopped, err := g.poisoned(ctx, m, event, err); stopped || err != nil {
			return err
		}
	}
	return nil
}

// poisoned parks a poison event, or stops the member before it. An event that a newer release may have written is not
// parked: that release, which may run already, goes on from there.
func (g *group) poisoned(ctx context.Context, m *member, event eventlog.Decoded, cause error) (stopped bool, err error) {
	e := parkedEvent{event.Recorded, withoutValues(cause)}
	where := fmt.Sprintf("event %s of stream %s at %s", event.Type, event.Stream, event.Position)
	if errors.Is(cause, eventlog.ErrUnknownType) || errors.Is(cause, eventlog.ErrNewerVersion) {
		return true, g.session.stop(ctx, g, m, e, alertAt(m, event.Recorded, alert.Outdated,
			where+" is not known to this release: a newer release, which wrote it, must go on from here, or else skip it"))
	}
	if !m.projection.Park || m.parking.waiting >= maxParked {
		a := alertAt(m, event.Recorded, alert.Stopped, fmt.Sprintf("%s is poison: %s", where, e.reason))
		return true, g.session.stop(ctx, g, m, e, a)
	}
	p := newPageWrite([]*member{m}, []eventlog.Decoded{event})
	p.rows = []pageRows{{Rows: table.NewRows(m.projection.Tables), parked: []parkedEvent{e}}}
	if err := g.writePage(ctx, p); err != nil {
		return false, err
	}
	g.session.config.Alert(alertAt(m, event.Recorded, alert.Parked, fmt.Sprintf("%s is poison and was parked: %s", where, e.reason)))
	return false, nil
}

// alertAt returns the alert of an event.
func alertAt(m *member, event eventlog.Recorded, reason alert.Reason, detail string) Alert {
	return Alert{Generation: m.id(), Reason: reason, Event: event.ID, Position: event.Position, Detail: detail}
}
