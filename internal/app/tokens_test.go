package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATokenThatCannotBeOneIsRefused(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "a blank line": " \n", "short": "secret\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "operator-token"), []byte(content), 0o600))
			_, err := inFolder(dir).adminToken("operator-token", "")
			require.ErrorContains(t, err, "delete it, and the next start makes a new one")
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	t.Run("one that was drawn is accepted", func(t *testing.T) {
		a := inFolder(t.TempDir())
		drawn, err := a.adminToken("operator-token", "")
		require.NoError(t, err)
		assert.GreaterOrEqual(t, len(drawn), 43) // 256 bits
		kept, err := a.adminToken("operator-token", "")
		require.NoError(t, err)
		assert.Equal(t, drawn, kept)
		other, err := a.adminToken("auditor-token", "")
		require.NoError(t, err)
		assert.NotEqual(t, drawn, other)
	})
}

func TestTheConfiguredTokensAreReadAndNeverWritten(t *testing.T) {
	secret := func(letter string) string { return strings.Repeat(letter, 64) }
	for _, c := range []struct {
		name              string
		operator, auditor string // of the files; "-" is a file that is not there
		says              []string
	}{
		{"two tokens", secret("a") + "\n", secret("b"), nil},
		{"no file", secret("a"), "-", []string{"reading the auditor-token", "no such file"}},
		{"an empty file", "", secret("b"), []string{"operator-token holds no token", "32 characters"}},
		{"a short one", "secret", secret("b"), []string{"operator-token holds no token", "openssl rand"}},
		{"two lines", secret("a") + "\n" + secret("c"), secret("b"), []string{"holds no token"}},
		{"what fits into no header", secret("ä"), secret("b"), []string{"holds no token"}},
		{"one for both", secret("a"), secret("a") + "\n", []string{"the same token"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := t.TempDir()
			a := inFolder(t.TempDir())
			a.cfg.OperatorTokenFile = filepath.Join(files, "operator-token")
			a.cfg.AuditorTokenFile = filepath.Join(files, "auditor-token")
			write(t, a.cfg.OperatorTokenFile, c.operator)
			write(t, a.cfg.AuditorTokenFile, c.auditor)
			before := names(t, files)

			err := a.readTokens(t.Context())

			if c.says == nil {
				require.NoError(t, err)
				assert.Equal(t, map[string]string{"operator": secret("a"), "auditor": secret("b")}, a.tokens)
			} else {
				require.Error(t, err)
				assert.NotContains(t, err.Error(), "aaaa", "a token")
			}
			for _, part := range c.says {
				assert.ErrorContains(t, err, part)
			}
			assert.Equal(t, before, names(t, files))
			assert.Empty(t, names(t, a.cfg.DataDir), "nothing is made beside configured files")
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if content != "-" {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
}
