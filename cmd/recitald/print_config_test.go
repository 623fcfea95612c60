package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintConfig(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	secret := filepath.Join(folder, "stripe-key")
	require.NoError(t, os.WriteFile(secret, []byte("sk_marker\n"), 0o600))
	recitald := func(flags ...string) (out, notes string, code int) {
		var printed, noted bytes.Buffer
		command := exec.CommandContext(t.Context(), recitaldBinary.Path(), flags...)
		command.Dir = folder
		command.Env = []string{"RECITAL_POSTGRES=postgres://recital:marker@db/recital", "RECITAL_STRIPE_KEY_FILE=" + secret,
			"RECITAL_STRIPE_WEBHOOK_SECRET=whsec_marker"}
		command.Stdout, command.Stderr = &printed, &noted
		_ = command.Run() // the exit code is sufficient
		return printed.String(), noted.String(), command.ProcessState.ExitCode()
	}

	// the default is a table, and recitald does not start
	out, notes, code := recitald("--print-config", "--data-dir=data", "--engines=3")
	require.Zero(t, code, notes)
	require.Empty(t, notes)
	require.Regexp(t, `(?m)^SETTING +FROM +VALUE$`, out)
	require.Regexp(t, `(?m)^RECITAL_ENGINES +flag +3$`, out)
	require.Regexp(t, `(?m)^RECITAL_POSTGRES +environment +postgres://recital:\(hidden\)@db/recital$`, out)
	require.Regexp(t, `(?m)^RECITAL_STRIPE_WEBHOOK_SECRET +environment +\(hidden\)$`, out)
	require.NotContains(t, out, "marker")
	require.NoDirExists(t, filepath.Join(folder, "data"))

	// JSON is for programs
	out, notes, code = recitald("--print-config=json")
	require.Zero(t, code, notes)
	var settings []map[string]string
	require.NoError(t, json.Unmarshal([]byte(out), &settings))
	require.Contains(t, settings, map[string]string{"flag": "stripe-key-file", "variable": "RECITAL_STRIPE_KEY_FILE",
		"value": secret, "from": "environment"})
	require.NotContains(t, out, "marker")

	// errors are listed on standard error, as at a start
	for _, flags := range [][]string{{"--print-config", "--engines=-1", "--codecs=many"},
		{"--engines=-1", "--codecs=many"}} {
		out, notes, code = recitald(flags...)
		require.Equal(t, 2, code)
		require.Equal(t, len(flags) == 3, out != "")
		require.Contains(t, notes, "2 settings are wrong:\n  --codecs (RECITAL_CODECS): \"many\" cannot be read")
		require.Contains(t, notes, "  --engines (RECITAL_ENGINES): ")
	}
	_, notes, code = recitald("--print-config=xml")
	require.Equal(t, 2, code)
	require.Contains(t, notes, "it is table or json")
}
