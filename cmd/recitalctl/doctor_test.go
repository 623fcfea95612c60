package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/health"
)

func TestTheDoctorExaminesAnInstallation(t *testing.T) {
	t.Parallel()
	_, dataDir := startRecitald(t)
	environment := []string{"RECITAL_DATA_DIR=" + dataDir}
	examine := func(args ...string) (found adminapi.Examination, code int) {
		t.Helper()
		got := recitalctl(t, environment, append([]string{"doctor", "--format", "json"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(got.out), &found), got.notes)
		return found, got.code
	}
	state := func(all adminapi.Examination, check string) health.Result {
		t.Helper()
		for _, f := range all.Findings {
			if strings.Contains(f.Check, check) {
				return f
			}
		}
		require.Fail(t, "no such check", check)
		return health.Result{}
	}

	// given a healthy installation without lag
	var all adminapi.Examination
	var code int
	require.Eventually(t, func() bool {
		all, code = examine()
		return code == 0 && state(all, "log is without damage").State == health.OK &&
			state(all, "audit chain").State == health.OK
	}, patience, interval)
	for _, f := range all.Findings {
		assert.NotEqual(t, health.Fault, f.State, "%s: %s", f.Check, f.Found)
		assert.Equal(t, f.State == health.OK, f.Advice == "", f.Check)
	}
	assert.Contains(t, state(all, "event log can be read").Found, "embedded node")
	assert.Regexp(t, `^version \d+, `, state(all, "Postgres keeps").Found)
	assert.Contains(t, state(all, "log is without damage").Found, "all that was there at the start is verified")
	assert.Equal(t, health.OK, state(all, "audit chain").State)
	assert.NotEmpty(t, all.Settings)

	// when others may read the master key, then there is a warning, but no fault
	require.NoError(t, os.Chmod(filepath.Join(dataDir, "master-key"), 0o644))
	require.Eventually(t, func() bool { all, code = examine(); return code == 0 }, patience, interval)
	assert.Equal(t, health.Warning, state(all, "settings").State)
	assert.Contains(t, state(all, "settings").Found, "master-key")

	// when backups stop, then that is reported
	backup := t.TempDir()
	all, code = examine("--backup", backup)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, state(all, "backup").Found, "there is no complete backup")
	for age, want := range map[time.Duration]int{time.Hour: exitDone, 30 * time.Hour: exitFailed} {
		manifest, err := json.Marshal(map[string]any{"begun": time.Now().Add(-age)})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(backup, "manifest.json"), manifest, 0o600))
		require.Eventually(t, func() bool { _, code = examine("--backup", backup); return code == want }, patience, interval,
			age)
	}
	require.Eventually(t, func() bool {
		_, code = examine("--backup", backup, "--backup-age", "31h")
		return code == 0
	}, patience, interval)

	// when the blobs' disk is gone and an event stops a read model, then both are faults, with advice
	stores, err := filepath.Glob(filepath.Join(dataDir, "blobs", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, stores)
	for _, store := range stores {
		require.NoError(t, os.RemoveAll(store))
		require.NoError(t, os.WriteFile(store, nil, 0o600))
	}
	appendPoison(t, dataDir)
	require.Eventually(t, func() bool { return listed(t, environment, "account")[1].State == stopped }, patience, interval)
	require.Eventually(t, func() bool {
		all, code = examine()
		return state(all, "alert").State == health.Fault && state(all, "read models").State == health.Fault
	}, patience, time.Second)
	assert.Equal(t, exitFailed, code)
	assert.Equal(t, health.Fault, state(all, "blobs can be").State)
	assert.Contains(t, state(all, "blobs can be").Advice, "RECITAL_BLOBS")
	assert.Contains(t, state(all, "read models").Found, "account version 1 generation 1")
	assert.Contains(t, state(all, "alert").Advice, "recitalctl alerts")

	// and the table has the same findings
	got := recitalctl(t, environment, "doctor")
	assert.Equal(t, exitFailed, got.code)
	assert.Regexp(t, `(?m)^FAULT    the read models are up to date\n`+
		`         an event stops account version 1 generation 1.*\n`+
		`         recitalctl projections list says why`, got.out)
	assert.Regexp(t, `(?m)^ok       Postgres keeps what it is given: version`, got.out)
}

func TestTheDoctorComparesClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	assert.Equal(t, health.OK, ofClocks(now, now.Add(time.Second), now.Add(time.Second)).State)
	assert.Equal(t, health.OK, ofClocks(now, now, now.Add(-time.Second)).State)
	for _, theirs := range []time.Duration{-time.Minute, time.Minute} {
		found := ofClocks(now, now, now.Add(theirs))
		assert.Equal(t, health.Warning, found.State)
		assert.Contains(t, found.Found, theirs.String())
	}
}

// With an admin address of another machine, the doctor does not examine this machine, where another recitald may be
// running.
func TestTheDoctorTakesThePublicAddressFromTheSettings(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"192.0.2.1:8080": "192.0.2.1:8080", "0.0.0.0:8080": "10.0.0.7:8080", "[::]:8080": "10.0.0.7:8080",
		":80": "10.0.0.7:80", "127.0.0.1:0": "",
	} {
		d := doctor{inner: adminapi.Examination{Settings: []adminapi.Setting{{Flag: "--http-addr", Value: value}}}}
		require.Equal(t, want, d.publicAddr(settings{AdminAddr: "10.0.0.7:8081", DataDir: t.TempDir()}), value)
	}
}
