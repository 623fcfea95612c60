package app

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
)

func TestAnInvalidTokenIsRefused(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "a blank line": " \n", "short": "secret\n"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "operator-token"), []byte(content), 0o600))
			err := inFolder(t, dir).readTokens(t.Context())
			require.ErrorContains(t, err, "delete it, and the next start makes a new one")
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	t.Run("a drawn token is accepted", func(t *testing.T) {
		a := inFolder(t, t.TempDir())
		require.NoError(t, a.readTokens(t.Context()))
		drawn := a.tokens
		for i, role := range []string{"operator", "auditor"} {
			text, err := os.ReadFile(filepath.Join(a.cfg.DataDir, role+"-token"))
			require.NoError(t, err)
			token := strings.TrimSpace(string(text))
			assert.GreaterOrEqual(t, len(token), 43) // 256 bits
			assert.Equal(t, operators.Single(role, token), drawn[i])
		}
		require.NoError(t, a.readTokens(t.Context()))
		assert.Equal(t, drawn, a.tokens)
	})
}

func TestTheConfiguredTokensAreReadAndNeverWritten(t *testing.T) {
	secret := func(letter string) string { return strings.Repeat(letter, 64) }
	for _, c := range []struct {
		name              string
		operator, auditor string // contents of the files; "-" is a missing file
		says              []string
	}{
		{"two tokens", secret("a") + "\n", secret("b"), nil},
		{"a line for each", line("ada", "operator", secret("a")), line("bob", "auditor", secret("b")), nil},
		{"a line without its hash", "ada operator", secret("b"), []string{"operator-token, line 1"}},
		{"no file", secret("a"), "-", []string{"reading the auditor-token", "no such file"}},
		{"an empty file", "", secret("b"), []string{"operator-token holds no token", "32 characters"}},
		{"a short one", "secret", secret("b"), []string{"operator-token holds no token", "openssl rand"}},
		{"two lines", secret("a") + "\n" + secret("c"), secret("b"), []string{"holds no token"}},
		{"not valid in a header", secret("ä"), secret("b"), []string{"holds no token"}},
		{"one for both", secret("a"), secret("a") + "\n", []string{"the same token"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := t.TempDir()
			a := inFolder(t, t.TempDir())
			a.cfg.OperatorTokenFile = filepath.Join(files, "operator-token")
			a.cfg.AuditorTokenFile = filepath.Join(files, "auditor-token")
			write(t, a.cfg.OperatorTokenFile, c.operator)
			write(t, a.cfg.AuditorTokenFile, c.auditor)
			before := names(t, files)

			err := a.readTokens(t.Context())

			if c.says == nil {
				require.NoError(t, err)
				require.Len(t, a.tokens, 2)
				assert.Equal(t, operators.Single("operator", secret("a")).Hash, a.tokens[0].Hash)
				assert.Equal(t, operators.Single("auditor", secret("b")).Hash, a.tokens[1].Hash)
			} else {
				require.Error(t, err)
				assert.NotContains(t, err.Error(), "aaaa", "a token")
			}
			for _, part := range c.says {
				assert.ErrorContains(t, err, part)
			}
			assert.Equal(t, before, names(t, files))
			assert.Empty(t, names(t, a.cfg.DataDir), "no files are created if others are configured")
		})
	}
}

// line returns a person's line in a token file.
func line(name, role, token string) string {
	hash := sha256.Sum256([]byte(token))
	return fmt.Sprintf("%s %s %x\n", name, role, hash)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if content != "-" {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
}
