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

func TestNothingIsKnownByHeartBeforeTheLogIsFollowed(t *testing.T) {
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
	// given keys that are known by heart, and something that one has opened
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

	// then it is refused at once, others are served, and none from memory
	hits := watcher.Stats().Hits
	for range 3 {
		requireUnknown(t, watcher, revoked)
		requireFound(t, watcher, other)
	}
	require.Equal(t, hits, watcher.Stats().Hits)
	require.Zero(t, told.Load(), "nobody could know")

	// when the log is followed again, then what happened meanwhile is made up for
	w.join()
	eventually(t, func() bool { return told.Load() == 1 })
	requireCached(t, watcher, other)
	requireUnknown(t, watcher, revoked)
}

func TestASubscriptionThatStandsStillIsNotTrusted(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.config())
	k := w.open()
	requireCached(t, watcher, k)

	// when nothing comes through any more, and nothing says so
	w.stall()
	w.revoke(k)

	// then the revoked key is refused all the same
	eventually(t, func() bool { return isUnknown(watcher, k) })
	requireUnknown(t, watcher, k)
	require.False(t, watcher.Stats().Live)
}

func TestWithoutTheLogAKeyIsNeitherGoodNorBad(t *testing.T) {
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

func TestACallerWithoutPatienceIsNotKept(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	k := w.open()
	requireCached(t, watcher, k)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := watcher.FindKey(ctx, k.hash())
	require.ErrorIs(t, err, context.Canceled)
}

// putBack is a log whose head is where it was once.
type putBack struct {
	eventlog.Log
	back chan struct{} // closed once it was put back
}

func (p *putBack) Head(ctx context.Context) (eventlog.Position, error) {
	select {
	case <-p.back:
		return eventlog.Start(), nil
	default:
		return p.Log.Head(ctx)
	}
}

func TestALogThatWasPutBackProvesNothing(t *testing.T) {
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

// throughTheOutage is config with a watcher that reads everything on the far way.
func (w *world) throughTheOutage(grace time.Duration) credentials.Config {
	config := w.config()
	config.Accounts = accounts.New(&journal.Journal{Log: w.far, Registry: w.registry}, nil)
	config.Outage, config.Silent = grace, 300*time.Millisecond
	return config
}

func TestReadsGoOnWithoutTheLog(t *testing.T) {
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
	}, "what appends is refused")
	w.revoke(revoked)

	// then reads go on, with keys that were in use
	for range 5 {
		found, err := watcher.FindKeyToRead(t.Context(), other.hash())
		require.NoError(t, err)
		require.Equal(t, other.credential(), found.Credential)
	}
	stranger := w.open()
	_, err := watcher.FindKeyToRead(t.Context(), stranger.hash())
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "it was never seen: %v", err)

	// when the log answers again, its word counts
	w.join()
	eventually(t, func() bool { return isUnknown(watcher, revoked) })
	_, err = watcher.FindKeyToRead(t.Context(), revoked.hash())
	require.ErrorIs(t, err, credentials.ErrUnknownKey)
	found, err := watcher.FindKeyToRead(t.Context(), other.hash())
	require.NoError(t, err)
	require.Equal(t, other.credential(), found.Credential)
}

func TestReadsGoOnWithoutTheLogForAWhileOnly(t *testing.T) {
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

// frozen is Accounts during whose first answer the process stands still, while the log comes back.
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
	// given a key that is kept, and was revoked where the watcher does not see it
	w := newWorld(t)
	config := w.throughTheOutage(time.Hour)
	config.Accounts = w.accounts
	watcher := w.watcher(config)
	k := w.open()
	requireCached(t, watcher, k)
	w.cut()
	eventually(t, func() bool { return !watcher.Stats().Live })
	w.revoke(k)

	// when a look-up fails after the process stood still, then the log's next answer counts
	watcher.ReadAccountsFrom(&frozen{Accounts: w.accounts, still: 3 * config.Silent})
	_, err := watcher.FindKeyToRead(t.Context(), k.hash())
	require.ErrorIs(t, err, credentials.ErrUnknownKey)
}
