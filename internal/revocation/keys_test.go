package revocation_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/revocation"
)

func TestAKeyIsKnownByHeartUntilItIsRevoked(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.config())
	k := w.open()
	requireCached(t, watcher, k)

	w.revoke(k)
	eventually(t, func() bool { return isUnknown(watcher, k) })
	for range 3 {
		requireUnknown(t, watcher, k) // the read model still shows it
	}
	require.Zero(t, watcher.Stats().Keys)
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

func TestAnUnknownKeyIsAskedForEachTime(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	first := w.open()
	made, err := w.accounts.CreateKey(t.Context(), first.account, "", operator)
	require.NoError(t, err)
	late := key{account: first.account, text: made.Key, masked: made.Masked}
	requireUnknown(t, watcher, late)

	w.owners.show(late) // the read model has reached it
	requireFound(t, watcher, late)
}

func TestWhateverHappensToAnAccountIsSeenAtOnce(t *testing.T) {
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
	config.Keys = 2
	watcher := w.watcher(config)
	first := w.open()
	for _, k := range []key{first, w.add(first.account), w.open(), w.open()} {
		requireFound(t, watcher, k)
		require.LessOrEqual(t, watcher.Stats().Keys, 2)
	}
	w.revoke(first)
	requireUnknown(t, watcher, first)
}

// held is Accounts whose answers tests hold back after they were read.
type held struct {
	revocation.Accounts
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
		_, err := watcher.Find(t.Context(), k.hash())
		looked <- err
	}()
	<-h.read

	// when the key is revoked, that is seen, and then the look-up ends
	ended := make(chan struct{})
	watcher.Watch(principal(k), func() { close(ended) })
	w.revoke(k)
	<-ended
	close(h.release)
	require.NoError(t, <-looked, "it began before")

	// then it has not brought the key back
	require.Zero(t, watcher.Stats().Keys)
	requireUnknown(t, watcher, k)
}

func TestALookUpThatHasReadAnEventKeepsItWhenTheEventComesLater(t *testing.T) {
	w := newWorld(t)
	h := &held{Accounts: w.accounts, read: make(chan struct{}, 4), release: make(chan struct{})}
	close(h.release)
	config := w.strictly()
	config.Accounts = h
	watcher, err := revocation.Open(t.Context(), config) // nothing is delivered yet
	require.NoError(t, err)
	k := w.open()
	requireFound(t, watcher, k)
	require.Equal(t, 1, watcher.Stats().Keys)

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

func TestAnAccountThatCannotBeReadOpensNothing(t *testing.T) {
	for name, kind := range map[string]string{"of an unknown type": "account-renamed", "of a newer version": "account-api-key-revoked"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			watcher := w.watcher(w.strictly())
			k := w.open()
			requireCached(t, watcher, k)
			ended := make(chan struct{})
			watcher.Watch(principal(k), func() { close(ended) })

			w.append(k, kind, `{"v": 99, "actor": {"kind": "system"}, "time": "2026-01-01T00:00:00Z"}`)
			_, err := watcher.Find(t.Context(), k.hash())
			require.Equal(t, domain.Unavailable, domain.CodeOf(err))

			// then what is open goes on where the event is nothing that this release must heed
			if kind == "account-renamed" {
				require.Equal(t, 1, watcher.Stats().Watches)
				return
			}
			<-ended
		})
	}
}
