package payment

import "time"

// Reconciliation is the state of the reconciliation with the provider's list of events.
type Reconciliation struct {
	Through time.Time // by the provider's clock; zero before the first one
}

// EvolveReconciliation folds an event into the state.
func EvolveReconciliation(s Reconciliation, event Event) Reconciliation {
	if e, ok := event.(Reconciled); ok {
		s.Through = e.Through
	}
	return s
}

// ReplacesState implements domain.Snapshot.
func (Reconciled) ReplacesState() {}

// RecordReconciliation records the time up to which the log has the provider's events. It never decreases.
type RecordReconciliation Reconciled

// Decide returns no event unless the time advances.
func (c RecordReconciliation) Decide(s Reconciliation) ([]Event, error) {
	if !c.Through.After(s.Through) {
		c.Through = s.Through
		if c.Missed == 0 {
			return nil, nil
		}
	}
	return []Event{Reconciled(c)}, nil
}
