package credentials_test

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestAKeyIsCachedUntilItIsRevoked(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.config())
	k := w.open()
	requireCached(t, watcher, k)

	w.revoke(k)
	eventually(t, func() bool { return isUnknown(watcher, k) })
	for range 3 {
		requireUnknown(t, watcher, k) // its stream still names the account
	}
	require.Zero(t, watcher.Stats().Cached)
}

func TestAKeyThatWasRevokedBeforeTheStartIsUnknown(t *testing.T) {
	w := newWorld(t)
	k := w.open()
	other := w.add(k.account)
	w.revoke(k)
	watcher := w.watcher(w.strictly())
	requireUnknown(t, watcher, k)
	requireFound(t, watcher, other)
}

func TestAKeyOfAClosedAccountIsUnknown(t *testing.T) {
	// given a closed account to which a key was added afterwards
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	k := w.open()
	requireCached(t, watcher, k)
	late := w.add(k.account)
	require.NoError(t, w.write(k.account, account.Closed{Account: k.account, At: time.Now()}))

	// then neither this key nor the one that was cached before is accepted
	requireUnknown(t, watcher, late)
	requireUnknown(t, watcher, k)
	require.Zero(t, watcher.Stats().Cached)
}

func TestAnUnknownKeyIsLookedUpEachTime(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	text, err := account.DrawAPIKey(rand.Reader)
	require.NoError(t, err)
	late := key{account: w.open().account, text: text, masked: account.MaskAPIKey(text)}
	requireUnknown(t, watcher, late)

	require.NoError(t, w.accounts.AddKey(t.Context(), late.account, text, "", operator))
	requireFound(t, watcher, late)
}

func TestChangesOfAnAccountAreSeenImmediately(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	k, stranger := w.open(), w.open()
	requireCached(t, watcher, k)
	requireCached(t, watcher, stranger)

	w.add(k.account)
	before := watcher.Stats()
	requireFound(t, watcher, stranger)
	requireFound(t, watcher, k)
	after := watcher.Stats()
	require.Equal(t, before.Hits+1, after.Hits, "of the stranger")
	require.Equal(t, before.Misses+1, after.Misses, "of the account")
}

func TestTheCacheIsBounded(t *testing.T) {
	w := newWorld(t)
	config := w.strictly()
	config.Size = 2
	watcher := w.watcher(config)
	first := w.open()
	for _, k := range []key{first, w.add(first.account), w.open(), w.open()} {
		requireFound(t, watcher, k)
		require.LessOrEqual(t, watcher.Stats().Cached, 2)
	}
	w.revoke(first)
	requireUnknown(t, watcher, first)
}

func TestAKeyThatWasIssuedButNeverCreatedIsUnknown(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	for _, id := range []string{w.open().account, "nobody"} {
		text, err := account.DrawAPIKey(rand.Reader)
		require.NoError(t, err)
		k := key{account: id, text: text, masked: account.MaskAPIKey(text)}
		proposed, err := w.registry.Encode(uuid.New(), 0, eventlog.Metadata{Actor: operator.Actor, Time: time.Now()},
			apikey.Issued{Hash: k.hash(), Account: id, At: time.Now()})
		require.NoError(t, err)
		_, err = w.log.Append(t.Context(), apikey.Stream(k.hash()), eventlog.NoStream, proposed)
		require.NoError(t, err)
		requireUnknown(t, watcher, k)
	}
}

func TestASnapshotIsNeitherARevocationNorARevival(t *testing.T) {
	// given an account with a key that was revoked and one that was not
	w := newWorld(t)
	watcher := w.watcher(w.config())
	k := w.open()
	revoked := w.add(k.account)
	w.revoke(revoked)
	requireCached(t, watcher, k)
	told, _ := watch(watcher, k)

	// when a snapshot is taken
	require.NoError(t, w.write(k.account, account.SnapshotTaken{
		Facts: account.Facts{Account: k.account, OpenedOn: "indie", OpenedAt: time.Now(), Entitlement: plan.Entitlement{
			Plan: "indie", Start: time.Now()}, Keys: []account.Key{{Hash: k.hash(), Masked: k.masked}}}, At: time.Now(),
	}))

	// then nothing has changed
	requireCached(t, watcher, k)
	requireUnknown(t, watcher, revoked)
	require.Zero(t, told.Load())
	late, _ := watch(watcher, revoked)
	require.EqualValues(t, 1, late.Load())
}

// held is Accounts whose answers are held back after they were read.
type held struct {
	credentials.Accounts
	read, release chan struct{}
}

func (h *held) State(ctx context.Context, id string) (account.State, eventlog.Revision, error) {
	state, revision, err := h.Accounts.State(ctx, id)
	h.read <- struct{}{}
	<-h.release
	return state, revision, err
}

func TestALookUpThatBeganBeforeTheRevocationLeavesNothingBehind(t *testing.T) {
	// given a look-up that has read the account
	w := newWorld(t)
	h := &held{Accounts: w.accounts, read: make(chan struct{}, 4), release: make(chan struct{})}
	config := w.strictly()
	config.Accounts = h
	watcher := w.watcher(config)
	k := w.open()
	looked := make(chan error, 1)
	go func() {
		_, err := watcher.FindKey(t.Context(), k.hash())
		looked <- err
	}()
	<-h.read

	// when the key is revoked, the watcher has seen it, and then the look-up ends
	ended := make(chan struct{})
	watcher.Watch(k.credential(), time.Time{}, func() { close(ended) })
	w.revoke(k)
	<-ended
	close(h.release)
	require.NoError(t, <-looked, "it began before")

	// then the key is not cached again
	require.Zero(t, watcher.Stats().Cached)
	requireUnknown(t, watcher, k)
}

func TestALookUpThatHasReadAnEventKeepsItWhenTheEventComesLater(t *testing.T) {
	w := newWorld(t)
	h := &held{Accounts: w.accounts, read: make(chan struct{}, 4), release: make(chan struct{})}
	close(h.release)
	config := w.strictly()
	config.Accounts = h
	watcher := credentials.New(config) // nothing is delivered yet
	k := w.open()
	requireFound(t, watcher, k)
	require.Equal(t, 1, watcher.Stats().Cached)

	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- watcher.Run(ctx) }()
	eventually(t, live(watcher))
	before := watcher.Stats()
	requireFound(t, watcher, k)
	require.Equal(t, before.Hits+1, watcher.Stats().Hits)
	cancel()
	require.NoError(t, <-ran)
	require.False(t, watcher.Stats().Live)
}

// append writes an event as a newer release would.
func (w *world) append(k key, kind, metadata string) {
	w.t.Helper()
	_, revision, err := w.accounts.State(w.t.Context(), k.account)
	require.NoError(w.t, err)
	event := eventlog.Proposed{ID: uuid.New(), Type: kind, Data: []byte(`{}`), Metadata: []byte(metadata)}
	_, err = w.log.Append(w.t.Context(), "account-"+k.account, revision, []eventlog.Proposed{event})
	require.NoError(w.t, err)
}

func TestKeysOfAnAccountThatCannotBeReadAreRefused(t *testing.T) {
	for name, kind := range map[string]string{"of an unknown type": "account-renamed",
		"of a newer version": "account-api-key-revoked"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			watcher := w.watcher(w.strictly())
			k := w.open()
			requireCached(t, watcher, k)
			ended := make(chan struct{})
			watcher.Watch(k.credential(), time.Time{}, func() { close(ended) })

			w.append(k, kind, `{"v": 99, "actor": {"kind": "system"}, "time": "2026-01-01T00:00:00Z"}`)
			_, err := watcher.FindKey(t.Context(), k.hash())
			require.Equal(t, domain.Unavailable, domain.CodeOf(err))

			// then watches continue if this release may ignore the event
			if kind == "account-renamed" {
				require.Equal(t, 1, watcher.Stats().Watches)
				return
			}
			<-ended
		})
	}
}

func TestASkippedEventMayHaveRevokedAKey(t *testing.T) {
	// given a key that is in use, and the event with which it is revoked
	w := newWorld(t)
	var unconfirmed atomic.Bool
	config := w.strictly()
	config.Unconfirmed = func(string) bool { return unconfirmed.Load() }
	watcher := w.watcher(config)
	k := w.open()
	requireCached(t, watcher, k)
	w.revoke(k)
	find := func() domain.Code {
		_, err := watcher.FindKey(t.Context(), k.hash())
		return domain.CodeOf(err)
	}
	require.Equal(t, domain.Unauthenticated, find())
	var revocation eventlog.Recorded
	for revocation = range w.log.ReadStreamBackwards(t.Context(), "account-"+k.account) {
		break
	}

	// when that event is skipped, then the key is refused until an operator has confirmed it
	unconfirmed.Store(true)
	w.registry.Skip(map[uuid.UUID]string{revocation.ID: revocation.Stream})
	require.Equal(t, domain.Unavailable, find())
	unconfirmed.Store(false)
	requireCached(t, watcher, k)

	// when an event is skipped while the key is watched, then that watch ends, and also one that begins a moment later
	ended := make(chan struct{}, 2)
	stop := watcher.Watch(k.another().credential(), time.Time{}, func() { ended <- struct{}{} })
	defer stop()
	unconfirmed.Store(true)
	watcher.Recheck()
	<-ended
	watcher.Watch(k.another().credential(), time.Time{}, func() { ended <- struct{}{} })
	<-ended
	unconfirmed.Store(false)

	// and when the revocation counts again, then the key is refused despite the cache
	w.registry.Skip(nil)
	require.Equal(t, domain.Unauthenticated, find())
}

// another returns a key of the same account that was never revoked.
func (k key) another() key {
	k.masked = "another"
	return k
}
