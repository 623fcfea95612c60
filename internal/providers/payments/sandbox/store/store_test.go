package store_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/payments/sandbox/store"
)

type thing struct {
	ID   string
	Of   string
	When time.Time
	Note string
}

func (t *thing) Key() string    { return t.ID }
func (t *thing) Owner() string  { return t.Of }
func (t *thing) Due() time.Time { return t.When }
func (t *thing) Queue() string  { return "q" }

func open(t *testing.T, folder string) *store.Store {
	s, err := store.Open(folder, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return s
}

func noon(day int) time.Time { return time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC) }

// found returns the ids of things in a list.
func found(t *testing.T, tx *store.Tx, owner, after string) []string {
	var ids []string
	for raw, err := range tx.List("t", owner, after) {
		require.NoError(t, err)
		var o thing
		require.NoError(t, json.Unmarshal(raw, &o))
		ids = append(ids, o.ID)
	}
	return ids
}

func TestObjectsAreFoundByIDOwnerAndTime(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	require.NoError(t, s.Update(func(tx *store.Tx) error {
		for _, o := range []*thing{{ID: "t_1", Of: "a", When: noon(3)}, {ID: "t_2", Of: "b", When: noon(2)}, {ID: "t_3", Of: "a"}, {ID: "tt_1"}} {
			require.NoError(t, tx.Put(o))
		}
		return nil
	}))
	require.NoError(t, s.Update(func(tx *store.Tx) error {
		require.NoError(t, tx.Put(&thing{ID: "t_2", Of: "a", When: noon(4)})) // neither of b nor due on the second any more
		return tx.Delete("t_3")
	}))
	require.NoError(t, s.Close())

	s = open(t, folder)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.Update(func(tx *store.Tx) error {
		require.Equal(t, []string{"t_2", "t_1"}, found(t, tx, "", ""))
		require.Equal(t, []string{"t_2", "t_1"}, found(t, tx, "a", ""))
		require.Equal(t, []string{"t_1"}, found(t, tx, "a", "t_2"))
		require.Empty(t, found(t, tx, "b", ""))
		id, due, err := tx.FirstDue("q", time.Unix(0, 0))
		require.NoError(t, err)
		require.Equal(t, "t_1", id)
		require.True(t, due.Equal(noon(3)))
		id, _, err = tx.FirstDue("q", noon(3).Add(1))
		require.NoError(t, err)
		require.Equal(t, "t_2", id)
		for until, want := range map[int][]string{2: nil, 3: {"t_1"}, 4: {"t_1", "t_2"}} {
			ids, err := tx.Due("q", noon(until), 9)
			require.NoError(t, err)
			require.Equal(t, want, ids)
		}
		ids, err := tx.Due("q", noon(4), 1)
		require.NoError(t, err)
		require.Equal(t, []string{"t_1"}, ids)
		id, _, err = tx.FirstDue("other", time.Unix(0, 0))
		require.NoError(t, err)
		require.Empty(t, id)
		require.ErrorIs(t, tx.Get("t_3", &thing{}), store.ErrNotFound)
		return nil
	}))
}

func TestAFailedChangeLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	defer func() { require.NoError(t, s.Close()) }()
	failed := errors.New("failed")
	require.ErrorIs(t, s.Update(func(tx *store.Tx) error {
		require.NoError(t, tx.Put(&thing{ID: "t_1", When: noon(1)}))
		require.NoError(t, tx.Get("t_1", &thing{}), "a transaction sees its own changes")
		return failed
	}), failed)
	require.NoError(t, s.Update(func(tx *store.Tx) error {
		require.ErrorIs(t, tx.Get("t_1", &thing{}), store.ErrNotFound)
		id, _, err := tx.FirstDue("q", time.Unix(0, 0))
		require.Empty(t, id)
		return err
	}))
}

func TestIDsSortByTheirAge(t *testing.T) {
	s := open(t, t.TempDir())
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.Update(func(tx *store.Tx) error {
		last := ""
		for range 2000 {
			id, err := tx.NextID("t")
			require.NoError(t, err)
			require.Less(t, last, id)
			last = id
		}
		return nil
	}))
}

func TestAFolderIsOfOneProcess(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder)
	defer func() { require.NoError(t, s.Close()) }()
	_, err := store.Open(folder, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "another process")
}
