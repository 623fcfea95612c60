package credentials_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// watch counts the calls of a watch.
func watch(w *credentials.Watcher, k key) (told *atomic.Int64, stop func()) {
	told = &atomic.Int64{}
	return told, w.Watch(k.credential(), time.Time{}, func() { told.Add(1) })
}

func TestARevocationEndsTheWatchesOfTheKey(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	k := w.open()
	sibling, stranger := w.add(k.account), w.open()
	first, _ := watch(watcher, k)
	second, stopSecond := watch(watcher, k)
	gone, stop := watch(watcher, k)
	ofSibling, _ := watch(watcher, sibling)
	ofStranger, stopStranger := watch(watcher, stranger)
	stop()
	stop()
	require.Equal(t, 4, watcher.Stats().Watches)

	w.revoke(k)
	eventually(t, func() bool { return first.Load() == 1 && second.Load() == 1 })
	require.Zero(t, gone.Load())
	require.Zero(t, ofSibling.Load())
	require.Zero(t, ofStranger.Load())
	stopSecond()
	stopStranger()
	require.Equal(t, 1, watcher.Stats().Watches, "the sibling's")

	// when a watch begins late, for a look-up before the revocation
	late, stopLate := watch(watcher, k)
	require.EqualValues(t, 1, late.Load())
	stopLate()
	require.Equal(t, 1, watcher.Stats().Watches)
}

func TestANewKeyThatLooksLikeARevokedOneIsAnother(t *testing.T) {
	w := newWorld(t)
	watcher := w.watcher(w.strictly())
	opened := w.open()
	look := func(text string) key {
		w.t.Helper()
		masked := account.MaskAPIKey(text)
		return key{account: opened.account, text: text, masked: masked}
	}
	text, err := account.DrawAPIKey(bytes.NewReader(bytes.Repeat([]byte{7}, 30)))
	require.NoError(t, err)
	old := look(text)
	require.NoError(t, w.write(opened.account, account.APIKeyCreated{Account: opened.account, Hash: old.hash(),
		Masked: old.masked}))
	w.revoke(old)
	require.NoError(t, w.write(opened.account, account.APIKeyCreated{Account: opened.account, Hash: "another",
		Masked: old.masked}))
	requireUnknown(t, watcher, old)
	requireCached(t, watcher, w.open()) // earlier events have been delivered
	told, stop := watch(watcher, old)
	defer stop()
	require.Zero(t, told.Load())
}

// write appends an event of an account without a decision.
func (w *world) write(id string, event any) error {
	_, revision, err := w.accounts.State(w.t.Context(), id)
	if err != nil {
		return err
	}
	proposed, err := w.registry.Encode(uuid.New(), 0, eventlog.Metadata{Actor: operator.Actor, Time: time.Now()}, event)
	if err != nil {
		return err
	}
	_, err = w.log.Append(w.t.Context(), "account-"+id, revision, proposed)
	return err
}
