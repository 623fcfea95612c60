package eventnode

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// longStore returns a store with several chunks of events, and a committer for more.
func longStore(t *testing.T, events int) (*store, *written, *committer) {
	t.Helper()
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("log", 0o700))
	s, c := openLogOn(t, fs)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	w := &written{fs: fs}
	more(t, w, c, events)
	return s, w, c
}

func more(t *testing.T, w *written, c *committer, events int) {
	t.Helper()
	for left := events; left > 0; left -= 1000 {
		w.append(t, c, make([]int, min(left, 1000)))
	}
}

// steps verifies a part of the log, like a run before a restart, and returns the positions of the events that were
// read.
func steps(t *testing.T, s *store, anew bool, count int) (read []uint64, err error) {
	t.Helper()
	v, err := newVerification(s, anew)
	require.NoError(t, err)
	for ; count > 0 && !v.done(); count-- {
		if err := v.step(); err != nil {
			return read, err
		}
		for _, e := range v.entries {
			read = append(read, e.position)
		}
	}
	v.keep(slog.New(slog.DiscardHandler))
	return read, nil
}

func TestVerificationStartsAtTheEndAndResumesAfterARestart(t *testing.T) {
	s, w, c := longStore(t, 3*verifyChunk)
	end := c.last

	// the newest events come first
	first, err := steps(t, s, false, 1)
	require.NoError(t, err)
	require.Len(t, first, verifyChunk)
	require.Contains(t, first, end)

	// after a restart, new events come first, and then the rest; none is read twice
	more(t, w, c, 10)
	second, err := steps(t, s, false, 1)
	require.NoError(t, err)
	require.Len(t, second, 10)
	require.Contains(t, second, c.last)
	rest, err := steps(t, s, false, 100)
	require.NoError(t, err)
	require.Len(t, rest, 2*verifyChunk)
	require.Contains(t, rest, uint64(firstPosition))
	seen := map[uint64]bool{}
	for _, position := range append(append(first, second...), rest...) {
		require.False(t, seen[position])
		seen[position] = true
	}
	require.Len(t, seen, len(w.ids))

	// a completely verified log is not read again, unless it is short
	nothing, err := steps(t, s, false, 100)
	require.NoError(t, err)
	require.Empty(t, nothing)
	all, err := steps(t, s, true, 100)
	require.NoError(t, err)
	require.Len(t, all, len(w.ids))
}

func TestAStateThatDoesNotMatchTheLogIsIgnored(t *testing.T) {
	s, _, c := longStore(t, 100)
	require.NoError(t, verifyAll(s))
	now := time.Now()
	sound := s.readVerified(now)
	require.EqualValues(t, firstPosition, sound.From)
	require.Equal(t, c.next, sound.To)

	require.Zero(t, s.readVerified(now.Add(2*verifiedFor)), "it is read again each day")
	for name, change := range map[string]func(*verified){
		"of another log":  func(v *verified) { v.LastID = uuid.New() },
		"past the end":    func(v *verified) { v.Last += 1000; v.To += 1000 },
		"between events":  func(v *verified) { v.To++ },
		"before its time": func(v *verified) { v.From = 0 },
		"turned around":   func(v *verified) { v.From, v.To = v.To, v.From },
	} {
		t.Run(name, func(t *testing.T) {
			changed := sound
			change(&changed)
			content, err := json.Marshal(changed)
			require.NoError(t, err)
			replaceFile(t, s.disk.FS, s.disk.PathJoin("log", verifiedFile), content)
			require.Zero(t, s.readVerified(now))
		})
	}
	replaceFile(t, s.disk.FS, s.disk.PathJoin("log", verifiedFile), []byte("{"))
	require.Zero(t, s.readVerified(now))
}

// A missing or wrong index entry in the unverified part is found.
func TestAMissingEntryIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawStore(t)
		s, c := openLogOn(t, w.fs)
		defer func() { require.NoError(t, s.close()) }()
		require.NoError(t, verifyAll(s))

		// given a key of the log, other than the last event's, which ends the log like a crash
		var keys [][]byte
		iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{eventPrefix}, UpperBound: []byte{streamPrefix + 1}})
		require.NoError(t, err)
		for valid := iter.First(); valid; valid = iter.Next() {
			if iter.Key()[0] == streamPrefix || iter.Key()[0] == eventPrefix && eventKeyPosition(iter.Key()) != c.last {
				keys = append(keys, append([]byte(nil), iter.Key()...))
			}
		}
		require.NoError(t, iter.Close())
		key := keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")]
		if key[0] == streamPrefix && rapid.Bool().Draw(t, "elsewhere") {
			require.NoError(t, s.db.Set(key, make([]byte, 8), pebble.Sync))
		} else {
			require.NoError(t, s.db.Delete(key, pebble.Sync))
		}
		require.Error(t, verifyAll(s))
	})
}
