package payment_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/spec"
)

type events = []payment.Event

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestNotices(t *testing.T) {
	came := payment.Received{ID: "evt_1", Kind: "invoice.paid", Object: "in_1", Customer: "cus_1", CreatedAt: noon,
		At: noon}
	again := payment.Receive(came)
	again.At = noon.Add(1)
	withID := func(id string) payment.Receive { return payment.Receive{ID: id, At: noon} }
	handled := payment.Handled{ID: "evt_1", Account: "a1", At: noon}
	handle := payment.Handle{Account: "a1", At: noon}
	spec.Run(t, payment.Evolve, []spec.Case[payment.State, payment.Event]{
		{Name: "a notice is recorded", When: payment.Receive(came), Then: events{came}},
		{Name: "once", Given: events{came}, When: again},
		{Name: "also after it was handled", Given: events{came, handled}, When: again},
		{Name: "not without an id", When: withID(""), Refused: domain.Invalid},
		{Name: "not with one that could name another stream", When: withID("analytics-evt_1"), Refused: domain.Invalid},
		{Name: "not with a long one", When: withID(strings.Repeat("e", 201)), Refused: domain.Invalid},
		{Name: "it is handled", Given: events{came}, When: handle, Then: events{handled}},
		{Name: "once, too", Given: events{came, handled}, When: handle},
		{Name: "not before it came", When: handle, Refused: domain.NotFound},
	})
}

func TestReconciliations(t *testing.T) {
	done := payment.Reconciled{Through: noon, Missed: 1, At: noon}
	none := payment.Reconciled{Through: noon, At: noon}
	further := payment.Reconciled{Through: noon.Add(1), At: noon}
	spec.Run(t, payment.EvolveReconciliation, []spec.Case[payment.Reconciliation, payment.Event]{
		{Name: "the first one", When: payment.RecordReconciliation(done), Then: events{done}},
		{Name: "nothing new", Given: events{done}, When: payment.RecordReconciliation(none)},
		{Name: "never back", Given: events{further}, When: payment.RecordReconciliation(none)},
		{Name: "not even if something was missed", Given: events{further}, When: payment.RecordReconciliation(done),
			Then: events{payment.Reconciled{Through: further.Through, Missed: 1, At: noon}}},
		{Name: "further", Given: events{done}, When: payment.RecordReconciliation(further), Then: events{further}},
	})
	spec.FromSnapshot(t, payment.EvolveReconciliation, events{done}, payment.Reconciliation{Through: further.Through})
}
