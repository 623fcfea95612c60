package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/backup/backuptest"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logdiff"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// Auditors can verify an unchanged log, export its heads, and find changes.
func TestAuditorsVerifyTheLog(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	a, dataDir := startRecitald(t)
	environment := []string{"RECITAL_ADMIN_ADDR=" + a.AdminAddr(), "RECITAL_DATA_DIR=" + dataDir}
	run := func(code int, args ...string) ran {
		t.Helper()
		got := recitalctl(t, environment, append([]string{"audit"}, args...)...)
		require.Equal(t, code, got.code, got.out+got.notes)
		return got
	}
	key, err := os.Stat(filepath.Join(dataDir, "audit-key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), key.Mode())

	// given the first head, which is signed after a while
	var listed []audit.Head
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(run(0, "heads", "--format", "json").out), &listed))
		return len(listed) > 0
	}, time.Minute, 50*time.Millisecond)

	// then the log is verified, for operators, too
	said := run(0, "verify").out
	require.Regexp(t, `(?m)^\d+ events were checked, up to position \S+; 0 of other applications`, said)
	require.Regexp(t, fmt.Sprintf(
		`(?m)^Proved: none of the first \d+ events was changed, removed, added or reordered since %d-`,
		time.Now().UTC().Year()), said)
	require.Contains(t, said, "recitald names the key itself, "+listed[0].Key)
	run(0, "verify", "--token-file", filepath.Join(dataDir, "operator-token"))
	require.NotContains(t, run(0, "verify", "--public-key", listed[0].Key).out, "names the key itself")

	// and exported heads prove it, repeatedly
	kept := filepath.Join(t.TempDir(), "heads.jsonl")
	require.Contains(t, run(0, "heads", "--export", kept).out, "heads were added to")
	require.Contains(t, run(0, "heads", "--export", kept).out, "0 heads were added to")
	state := filepath.Join(t.TempDir(), "state.json")
	for range 2 {
		require.Contains(t, run(0, "verify", "--heads", kept, "--state", state).out, "Proved by the exported heads")
	}
	require.Contains(t, run(1, "verify", "--state", state).notes, "other exported heads")

	// when the key is wrong, or an exported head was changed, or belongs to another history, then that is reported
	require.Contains(t, run(1, "verify", "--public-key", strings.Repeat("0", 64)).out,
		"FOUND: A head is not to be trusted")
	require.Contains(t, run(2, "verify", "--public-key", "abc").notes, "64 hex digits")
	content, err := os.ReadFile(kept)
	require.NoError(t, err)
	count := fmt.Sprintf(`"count":%d`, listed[0].Count)
	require.Contains(t, string(content), count)
	require.NoError(t, os.WriteFile(kept, []byte(strings.Replace(string(content), count, count+"0", 1)), 0o600))
	require.Contains(t, run(1, "verify", "--heads", kept).notes, "its signature is wrong")
	require.Contains(t, run(1, "heads", "--export", kept).notes, "was changed")
	require.NoError(t, os.WriteFile(kept, append(content, content...), 0o600))
	require.Contains(t, run(1, "heads", "--export", kept).notes, "its end is missing")

	// and the log in a backup is checked in the same way, without using other files
	saved := filepath.Join(t.TempDir(), "backup")
	made := recitalctl(t, environment, "backup", saved)
	require.Zero(t, made.code, made.notes)
	require.NoError(t, os.WriteFile(filepath.Join(saved, "log", "999999.zst"), []byte("left by a crash"), 0o600))
	unconfirmed := run(exitUnconfirmed, "verify", "--backup", saved)
	require.Contains(t, unconfirmed.out, "heads of the log match")
	require.Contains(t, unconfirmed.out, "NOT CONFIRMED: the heads in the backup name their own key, "+listed[0].Key)
	require.Contains(t, run(exitUnconfirmed, "verify", "--backup", saved, "--format", "json").out,
		`"signer": "unconfirmed"`)
	require.NoError(t, os.WriteFile(kept, content, 0o600))
	require.Contains(t, run(0, "verify", "--backup", saved, "--heads", kept, "--public-key", listed[0].Key).out,
		"Proved by the exported heads")
	require.NotContains(t, run(0, "verify", "--backup", saved, "--heads", kept).out, "names")
	forged := backuptest.Forge(t, saved, func(event *eventlog.Recorded) bool {
		if event.ID.String() != listed[0].Last.ID {
			return false
		}
		event.Data = append(event.Data, ' ')
		return true
	})
	require.Contains(t, recitalctl(t, environment, "backup", forged, "--check-only").out, "RUN")
	changed := run(1, "verify", "--backup", forged)
	require.Contains(t, changed.out,
		fmt.Sprintf("FOUND: An event after the beginning of the log, and at the latest event %d (", listed[0].Count))
	require.Contains(t, changed.notes, "the log does not match its signed heads")
	require.Contains(t, run(1, "verify", "--backup", t.TempDir()).notes, "holds no complete backup")

	// and a comparison with a backup finds the event, for all kinds of changes
	requireNamed(t, saved, listed[0].Key, run)
}

// requireNamed checks that a comparison with a backup finds changes of single events.
func requireNamed(t *testing.T, saved, key string, run func(code int, args ...string) ran) {
	t.Helper()
	compared := func(code int, log ...string) (found outcome, out string) {
		t.Helper()
		args := append([]string{"verify", "--against", saved, "--public-key", key}, log...)
		require.NoError(t, json.Unmarshal([]byte(run(code, append(args, "--format", "json")...).out), &found))
		return found, run(code, args...).out
	}
	running, out := compared(0)
	require.True(t, running.Against.Same())
	require.Positive(t, running.Against.Compared)
	require.Contains(t, out, "events were compared with the backup; the log has")

	var events []eventlog.Recorded
	changed := func(change func([]eventlog.Recorded) []eventlog.Recorded) logdiff.Difference {
		t.Helper()
		log := backuptest.Rewrite(t, saved, func(all []eventlog.Recorded) []eventlog.Recorded {
			events = slices.Clone(all)
			return change(all)
		})
		found, out := compared(1, "--backup", log)
		require.False(t, found.Intact)
		require.Len(t, found.Against.Differences, 1, out)
		d := found.Against.Differences[0]
		require.Contains(t, out, "FOUND: "+d.String())
		return d
	}
	d := changed(func(all []eventlog.Recorded) []eventlog.Recorded {
		all[2].Data = append(all[2].Data, ' ')
		return all
	})
	require.Equal(t, fmt.Sprintf("Event %s (revision %d of %s, type %s) was changed: position %[5]s of the copy, %[5]s "+
		"of the log; another data",
		events[2].ID, events[2].Revision, events[2].Stream, events[2].Type, events[2].Position), d.String())
	d = changed(func(all []eventlog.Recorded) []eventlog.Recorded { return slices.Delete(all, 2, 3) })
	require.Equal(t, logdiff.Removed, d.Kind)
	require.Equal(t, events[2].Position, d.Copy.Position)
	d = changed(func(all []eventlog.Recorded) []eventlog.Recorded {
		forged := all[2]
		forged.ID, forged.Stream = uuid.New(), "account-forged"
		return slices.Insert(all, 3, forged)
	})
	require.Equal(t, logdiff.Added, d.Kind)
	require.Equal(t, "account-forged", d.Log.Stream)
	d = changed(func(all []eventlog.Recorded) []eventlog.Recorded {
		all[1], all[2] = all[2], all[1]
		return all
	})
	require.Equal(t, logdiff.Moved, d.Kind)
	require.Equal(t, events[1].ID, d.Copy.ID)

	// and it continues, even with a state from a check without the backup
	state := filepath.Join(t.TempDir(), "state.json")
	run(0, "verify", "--public-key", key, "--state", state)
	for range 2 {
		again, _ := compared(0, "--state", state)
		require.Equal(t, running.Against.Compared, again.Against.Compared)
	}
}
