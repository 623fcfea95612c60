package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/release"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// combined runs another program of the release and returns its output.
func combined(name string, args ...string) (output string, err error) {
	program := exec.Command(recitaldBinary.Beside(name).Path(), args...)
	program.Env = bintest.Environment()
	said, err := program.CombinedOutput()
	return string(said), err
}

func TestAllProgramsAreOfOneRelease(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"recitald", "recitalctl", "speechworker", "standins"} {
		said, err := combined(name, "--version")
		require.NoError(t, err, said)
		require.Regexp(t, `^`+name+` `+release.Version+`( \([0-9a-f]{12}\))?\n$`, said)
	}
}

// A data folder or backup of an unreleased build is refused in one sentence and not changed.
func TestDataOfAnUnreleasedBuildIsRefused(t *testing.T) {
	t.Parallel()
	data, backup, another := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "data")
	key := filepath.Join(t.TempDir(), "master-key")
	write := func(path, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write(filepath.Join(data, "eventnode", "LOCK"), "")
	write(filepath.Join(data, "operator-token"), "token")
	write(filepath.Join(backup, "lock"), "")
	write(filepath.Join(backup, "manifest.json"), `{"format": 1, "run": 3}`)
	write(key, strings.Repeat("ab", 32))
	inData, inBackup := files(t, data), files(t, backup)

	for _, c := range []struct{ what, command string }{
		{"the data folder " + data, "recitald --http-addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --data-dir " + data},
		{"the data folder " + data, "recitalctl log migrate --offline --to esdb://127.0.0.1:1 --data-dir " + data},
		{"the backup " + backup, "recitalctl backup " + backup + " --data-dir " + data},
		{"the backup " + backup, "recitalctl backup --check-only " + backup},
		{"the backup " + backup, "recitalctl restore " + backup + " --data-dir " + another + " --master-key-file " + key},
		{"the backup " + backup, "recitalctl restore --check " + backup + " --master-key-file " + key},
		{"the backup " + backup, "recitalctl audit verify --backup " + backup},
	} {
		command := strings.Fields(c.command)
		said, err := combined(command[0], command[1:]...)
		require.Error(t, err, said)
		require.Contains(t, said, c.what+" comes from an unreleased build", command)
		require.Equal(t, 1, strings.Count(said, "\n"), said)
		require.Equal(t, inData, files(t, data), command)
		require.Equal(t, inBackup, files(t, backup), command)
		require.NoDirExists(t, another)
	}
}
