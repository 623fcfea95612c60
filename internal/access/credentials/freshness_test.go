package credentials_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestNothingIsCachedBeforeTheLogIsFollowed(t *testing.T) {
	w := newWorld(t)
	watcher := credentials.New(w.config())
	k := w.open()
	for range 3 {
		requireFound(t, watcher, k)
	}
	require.Equal(t, credentials.Stats{Misses: 3, Cached: 1}, watcher.Stats())
	w.revoke(k)
	requireUnknown(t, watcher, k)
}

func TestWhileTheSubscriptionIsInterruptedTheLogIsAsked(t *testing.T) {
	// given cached keys, and a watch on one of them
	w := newWorld(t)
	watcher := w.watcher(w.config())
	revoked, other := w.open(), w.open()
	requireCached(t, watcher, revoked)
	requireCached(t, watcher, other)
	told, _ := watch(watcher, revoked)

	// when the subscription is cut, and then the key is revoked
	w.cut()
	eventually(t, func() bool { return !watcher.Stats().Live })
	w.revoke(revoked)

	// then it is refused at once, others are served, and none from the cache
	hits := watcher.Stats().Hits
	for range 3 {
		requireUnknown(t, watcher, revoked)
		requireFound(t, watcher, other)
	}
	require.Equal(t, hits, watcher.Stats().Hits)
	require.Zero(t, told.Load(), "the watcher cannot know of the revocation")

	// when the log is followed again, then the watcher catches up
	w.join()
	eventually(t, func() bool { return told.Load() == 1 })
	requireCached(t, watcher, other)
	requireUnknown(t, watcher, revoked)
}

func TestAStalledSubscriptionIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.config())
	k := w.open()
	requireCached(t, watcher, k)

	// when the connection stalls without an error
	w.stall()
	w.revoke(k)

	// then the revoked key is still refused
	eventually(t, func() bool { return isUnknown(watcher, k) })
	requireUnknown(t, watcher, k)
	require.False(t, watcher.Stats().Live)
}

func TestWithoutTheLogKeysAreUnavailable(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Accounts = accounts.New(&journal.Journal{Log: w.far, Registry: w.registry}, nil)
	watcher := w.watcher(config)
	k := w.open()
	requireCached(t, watcher, k)

	w.cut()
	eventually(t, func() bool {
		_, err := watcher.FindKey(t.Context(), k.hash())
		return domain.CodeOf(err) == domain.Unavailable
	})
	w.join()
	eventually(t, func() bool {
		_, err := watcher.FindKey(t.Context(), k.hash())
		return err == nil
	})
	requireCached(t, watcher, k)
}

func TestALookUpEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	k := w.open()
	requireCached(t, watcher, k)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := watcher.FindKey(ctx, k.hash())
	require.ErrorIs(t, err, context.Canceled)
}

// putBack is a log that was reset to an earlier head.
type putBack struct {
	eventlog.Log
	back chan struct{} // closed once it was reset
}

func (p *putBack) Head(ctx context.Context) (eventlog.Position, error) {
	select {
	case <-p.back:
		return eventlog.Start(), nil
	default:
		return p.Log.Head(ctx)
	}
}

func TestALogThatWasResetProvesNothing(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	log := &putBack{Log: w.far, back: make(chan struct{})}
	config.Log = log
	watcher := w.watcher(config)
	k := w.open()
	requireCached(t, watcher, k)

	close(log.back)
	eventually(t, func() bool {
		before := watcher.Stats().Hits
		requireFound(t, watcher, k)
		return watcher.Stats().Hits == before
	})
	require.False(t, watcher.Stats().Live)
}

// throughTheOutage is config for a watcher that reads everything through the proxy.
func (w *world) throughTheOutage(grace time.Duration) credentials.Config {
	config := w.config()
	config.Accounts = accounts.New(&journal.Journal{Log: w.far, Registry: w.registry}, nil)
	config.Outage, config.Silent = grace, 300*time.Millisecond
	return config
}

func TestReadsContinueWithoutTheLog(t *testing.T) {
	// given two keys that are in use
	w := newWorld(t)
	watcher := w.watcher(w.throughTheOutage(time.Hour))
	revoked, other := w.open(), w.open()
	requireCached(t, watcher, revoked)
	requireCached(t, watcher, other)

	// when the log goes away, and one of them is revoked elsewhere
	w.cut()
	eventually(t, func() bool {
		_, err := watcher.FindKey(t.Context(), other.hash())
		return domain.CodeOf(err) == domain.Unavailable
	}, "requests that append are refused")
	w.revoke(revoked)

	// then reads continue, with keys that were in use
	for range 5 {
		found, err := watcher.FindKeyToRead(t.Context(), other.hash())
		require.NoError(t, err)
		require.Equal(t, other.credential(), found.Credential)
	}
	stranger := w.open()
	_, err := watcher.FindKeyToRead(t.Context(), stranger.hash())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "the key was not cached: %v", err)

	// when the log answers again, then the revocation counts
	w.join()
	eventually(t, func() bool { return isUnknown(watcher, revoked) })
	_, err = watcher.FindKeyToRead(t.Context(), revoked.hash())
	require.ErrorIs(t, err, credentials.ErrUnknownKey)
	found, err := watcher.FindKeyToRead(t.Context(), other.hash())
	require.NoError(t, err)
	require.Equal(t, other.credential(), found.Credential)
}

func TestReadsContinueWithoutTheLogForALimitedTime(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.throughTheOutage(2 * time.Second))
	k := w.open()
	requireCached(t, watcher, k)
	w.cut()
	eventually(t, func() bool {
		_, err := watcher.FindKeyToRead(t.Context(), k.hash())
		return domain.CodeOf(err) == domain.Unavailable
	})
}

// frozen is Accounts whose first call sleeps, as if the process was frozen, and fails. Meanwhile the log comes back.
type frozen struct {
	credentials.Accounts
	once  sync.Once
	still time.Duration
}

func (f *frozen) KeyAccount(ctx context.Context, hash string) (id string, err error) {
	f.once.Do(func() {
		time.Sleep(f.still)
		err = eventlog.ErrUnavailable
	})
	if err != nil {
		return "", err
	}
	return f.Accounts.KeyAccount(ctx, hash)
}

func TestAProcessThatWasFrozenAsksTheLogAgain(t *testing.T) {
	// given a cached key that was revoked without the watcher's seeing it
	w := newWorld(t)
	config := w.throughTheOutage(time.Hour)
	config.Accounts = w.accounts
	watcher := w.watcher(config)
	k := w.open()
	requireCached(t, watcher, k)
	w.cut()
	eventually(t, func() bool { return !watcher.Stats().Live })
	w.revoke(k)

	// when a look-up fails after a freeze, then the log's next answer counts
	watcher.ReadAccountsFrom(&frozen{Accounts: w.accounts, still: 3 * config.Silent})
	_, err := watcher.FindKeyToRead(t.Context(), k.hash())
	require.ErrorIs(t, err, credentials.ErrUnknownKey)
}
