package credentials_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// BenchmarkFind looks up a key that is cached, and one that is not, which reads a stream through the client of the
// event log.
func BenchmarkFind(b *testing.B) {
	w := newWorld(b)
	config := w.config()
	config.Log = w.log
	watcher := w.watcher(config)
	k := w.open()
	find := func(b *testing.B, watcher *credentials.Watcher) {
		b.ReportAllocs()
		for b.Loop() {
			requireFound(b, watcher, k)
		}
	}
	b.Run("known", func(b *testing.B) { find(b, watcher) })
	b.Run("read", func(b *testing.B) {
		idle := credentials.New(config) // it does not run, so it caches nothing
		find(b, idle)
	})
}

// BenchmarkFindSession is BenchmarkFind for sessions: two streams are read. bare reads them through the client alone.
func BenchmarkFindSession(b *testing.B) {
	w := newWorld(b)
	config := w.config()
	config.Log = w.log
	watcher := w.watcher(config)
	signedIn := w.signIn(w.open().account)
	find := func(b *testing.B, watcher *credentials.Watcher) {
		b.ReportAllocs()
		for b.Loop() {
			requireSignedIn(b, watcher, signedIn)
		}
	}
	b.Run("known", func(b *testing.B) { find(b, watcher) })
	b.Run("read", func(b *testing.B) {
		idle := credentials.New(config) // it does not run, so it caches nothing
		find(b, idle)
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, stream := range []string{session.Stream(signedIn.cookie.ID), account.Stream(signedIn.account)} {
				for _, err := range w.log.ReadStream(b.Context(), stream, 0) {
					require.NoError(b, err)
				}
			}
		}
	})
}

// BenchmarkDelivery is the cost of an event that does not concern credentials, as nearly all do not.
func BenchmarkDelivery(b *testing.B) {
	w := newWorld(b)
	watcher := credentials.New(w.config())
	next := eventlog.Delivery{Kind: eventlog.KindEvent,
		Event: eventlog.Recorded{Stream: "usage-01a1fd3474fd7b2b90eb2cc7ed10b0a9-1", Type: "usage-settled"}}
	b.ReportAllocs()
	for b.Loop() {
		next.Event.Position.Commit++
		watcher.Take(next)
	}
}
