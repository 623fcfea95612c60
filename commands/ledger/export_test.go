package ledger

import "github.com/recital-tts/recital/domain/ledger"

// Waiting returns the number of commands that wait for another append.
func (l *Ledger) Waiting(stream string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.working[stream]; ok {
		return len(q.waiting)
	}
	return 0
}

// State returns the cached state of a stream in an idle Ledger.
func (l *Ledger) State(stream string) ledger.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.idle.Get(stream); ok {
		return q.period.State()
	}
	return ledger.State{}
}
