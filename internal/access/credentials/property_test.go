package credentials_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// dawdling is Accounts with delayed answers.
type dawdling struct {
	credentials.Accounts
	turns int
}

func (d dawdling) State(ctx context.Context, id string) (account.State, eventlog.Revision, error) {
	state, revision, err := d.Accounts.State(ctx, id)
	for range d.turns {
		runtime.Gosched()
	}
	return state, revision, err
}

// Whatever the order of look-ups, changes and revocations: each look-up finds a key that was created before it, unless
// it was revoked before it.
func TestNoLookUpFindsARevokedKey(t *testing.T) {
	longtest.Only(t)
	w := newWorld(t)
	proptest.Check(t, 4, func(r *rapid.T) {
		config := w.strictly()
		config.Size = rapid.IntRange(1, 8).Draw(r, "cached keys")
		config.Accounts = dawdling{w.accounts, rapid.IntRange(0, 200).Draw(r, "turns")}
		watcher := credentials.New(config)
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error, 1)
		go func() { ran <- watcher.Run(ctx) }()

		accounts := rapid.IntRange(1, 3).Draw(r, "accounts")
		lifes := rapid.IntRange(1, 3).Draw(r, "keys of each that live and die")
		readers := rapid.IntRange(1, 4).Draw(r, "readers")
		var all sync.WaitGroup
		for range accounts {
			first := w.open()
			for range lifes {
				k := w.add(first.account)
				all.Go(func() { liveAndDie(t, w, watcher, k, readers) })
			}
			all.Go(func() {
				for range 5 {
					assert.NoError(t, found(watcher, first))
				}
			})
		}
		all.Wait()
		cancel()
		require.NoError(r, <-ran)
		require.Zero(r, watcher.Stats().Watches)
		require.LessOrEqual(r, watcher.Stats().Cached, config.Size)
	})
}

// liveAndDie has readers look a key up while it is revoked.
func liveAndDie(t *testing.T, w *world, watcher *credentials.Watcher, k key, readers int) {
	assert.NoError(t, found(watcher, k))
	ended := make(chan struct{})
	stop := watcher.Watch(k.credential(), time.Time{}, func() { close(ended) })
	revoked := make(chan struct{})
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			for {
				dead := isClosed(revoked) // before the look-up begins
				err := found(watcher, k)
				if dead {
					assert.ErrorIs(t, err, credentials.ErrUnknownKey)
					return
				}
				if err != nil {
					assert.ErrorIs(t, err, credentials.ErrUnknownKey)
				}
			}
		})
	}
	_, err := w.accounts.RevokeKey(context.Background(), k.account, k.masked, operator)
	assert.NoError(t, err)
	close(revoked)
	reading.Wait()
	<-ended
	stop()
	assert.ErrorIs(t, found(watcher, k), credentials.ErrUnknownKey)
}

func found(watcher *credentials.Watcher, k key) error {
	_, err := watcher.FindKey(context.Background(), k.hash())
	return err
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
