package billing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/internal/providers/payments"
)

const (
	// overlap is the overlap of a reconciliation with the last one, because the provider may list events late.
	overlap = time.Hour
	// overdue is the time after the end of a period by which its outcome must be known.
	overdue = time.Hour
)

// Reconcile records changes that arrived without a notice: events that the provider lists and the log lacks, prices,
// and subscriptions without news since the end of their period.
func (b *Billing) Reconcile(ctx context.Context) error {
	_, catalogue := b.ObserveCatalogue(ctx)
	return errors.Join(catalogue, b.reconcileEvents(ctx), b.reconcileOverdue(ctx))
}

// reconcileEvents records the provider's events that the log lacks, like their notices.
func (b *Billing) reconcileEvents(ctx context.Context) error {
	last, _, err := journal.Load(ctx, b.Journal, reconciliations())
	if err != nil {
		return err
	}
	done := payment.RecordReconciliation{Through: last.Through}
	for e, err := range b.Gateway.Events(ctx, sinceOf(last)) {
		if err != nil {
			return unread(err)
		}
		missed, err := b.recordMissed(ctx, e)
		if err != nil {
			return err
		}
		done.Missed += missed
		if e.CreatedAt.After(done.Through) {
			done.Through = e.CreatedAt.UTC()
		}
	}
	done.At = b.now()
	_, _, err = journal.Execute(ctx, b.Journal, reconciliations(), done, journal.System().Metadata(uuid.New(), done.At))
	return err
}

// sinceOf returns the time from which the provider's list of events is read, by the provider's clock.
func sinceOf(last payment.Reconciliation) time.Time {
	if last.Through.IsZero() {
		return time.Time{}
	}
	return last.Through.Add(-overlap)
}

// recordMissed records an event that the log lacks, and counts it. It skips an event with an invalid id, and logs that.
func (b *Billing) recordMissed(ctx context.Context, e payments.Event) (int, error) {
	known, _, err := journal.Load(ctx, b.Journal, noticeStream(payment.Stream(e.ID)))
	if err != nil || known.Exists() {
		return 0, err
	}
	switch _, err := b.RecordNotice(ctx, e, false); {
	case domain.CodeOf(err) == domain.Invalid:
		b.Logger.WarnContext(ctx, "an event of the payment provider has no valid id and is skipped", "error", err)
		return 0, nil
	case err != nil:
		return 0, err
	}
	if b.Missed != nil {
		b.Missed(e.CreatedAt)
	}
	return 1, nil
}

// reconcileOverdue looks at subscriptions with a period that is over. A failure does not stop the others.
func (b *Billing) reconcileOverdue(ctx context.Context) error {
	var failed error
	for at, after := b.now().Add(-overdue), ""; ; {
		accounts, err := b.Views.Overdue(ctx, at, after)
		if err != nil || len(accounts) == 0 {
			return errors.Join(failed, err)
		}
		for _, account := range accounts {
			if _, err := b.refresh(ctx, account, journal.System()); err != nil {
				failed = err
			}
		}
		after = accounts[len(accounts)-1]
	}
}

func reconciliations() journal.Stream[payment.Reconciliation, payment.Event] {
	return journal.Stream[payment.Reconciliation, payment.Event]{Name: payment.ReconciliationStream,
		Evolve: payment.EvolveReconciliation}
}
