package datafolder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAKeyIsMadeOnce(t *testing.T) {
	f, other := open(t, t.TempDir()), open(t, t.TempDir())
	first, err := f.Key("master-key", "")
	require.NoError(t, err)
	require.Len(t, first, 32)
	f = reopen(t, f)
	kept, err := f.Key("master-key", "")
	require.NoError(t, err)
	require.Equal(t, first, kept)
	foreign, err := other.Key("master-key", "")
	require.NoError(t, err)
	require.NotEqual(t, first, foreign)
	info, err := os.Stat(f.Path("master-key"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}

func TestAConfiguredKeyIsReadAndNeverWritten(t *testing.T) {
	digits := strings.Repeat("0a", 32)
	for name, c := range map[string]struct {
		content string // "-" means that there is no file
		says    []string
	}{
		"digits":         {digits + "\n", nil},
		"capital digits": {strings.ToUpper(digits), nil},
		"no file":        {"-", []string{"reading the signing-key", "no such file"}},
		"an empty file":  {"", []string{"holds no key", "64 hex digits"}},
		"a short one":    {digits[:32], []string{"holds no key", "openssl rand -hex 32"}},
		"a long one":     {digits + "0a", []string{"holds no key"}},
		"not hex":        {strings.Repeat("secret!!", 8), []string{"holds no key"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, t.TempDir())
			folder := t.TempDir()
			path := filepath.Join(folder, "of-mine")
			if c.content != "-" {
				require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			}
			before := names(t, folder)

			key, err := f.Key("signing-key", path)

			assert.Equal(t, before, names(t, folder))
			assert.Empty(t, names(t, f.Dir()), "no file is made if the key is configured")
			if c.says == nil {
				require.NoError(t, err)
				require.Len(t, key, 32)
				return
			}
			require.Error(t, err)
			for _, part := range c.says {
				assert.ErrorContains(t, err, part)
			}
			assert.NotContains(t, err.Error(), "secret!!")
		})
	}
}

func TestARandomSecret(t *testing.T) {
	f := open(t, t.TempDir())
	text, path, err := f.Secret("operator-token", "")
	require.NoError(t, err)
	assert.Regexp(t, `^[0-9a-f]{64}$`, text)
	assert.Equal(t, f.Path("operator-token"), path)
	other, _, err := f.Secret("auditor-token", "")
	require.NoError(t, err)
	assert.NotEqual(t, text, other)
}
