package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// A release does not start on a machine without one of its libraries, and names the library.
func TestAMissingLibraryIsNamed(t *testing.T) {
	longtest.Only(t)
	for _, library := range []string{"libespeak-ng.so.1", "libavutil.so.57"} {
		t.Run(library, func(t *testing.T) {
			data, machine := dataFolder(t), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(machine, library), nil, 0o600))
			t.Setenv("LD_LIBRARY_PATH", machine)
			s := &server{t: t, data: data, ended: make(chan struct{}), output: filepath.Join(machine, "stdout"),
				log: filepath.Join(machine, "stderr")}
			s.launch([]string{"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--data-dir=" + data, "--engines=1",
				"--codecs=1"})
			t.Cleanup(s.kill)
			s.awaitEnd()
			require.Equal(t, 1, s.command.ProcessState.ExitCode())
			require.Regexp(t, `(?m)^recitald: starting the speech workers: .*`+library+`.*file too short`, read(t, s.log))
		})
	}
}
