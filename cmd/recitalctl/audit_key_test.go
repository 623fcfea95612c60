package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The key that releases before derived from the signing key stays the same for ever: heads are signed with it.
func TestTheFormerAuditKeyIsWrittenOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signing, key := filepath.Join(dir, "signing-key"), filepath.Join(dir, "audit-key")
	require.NoError(t, os.WriteFile(signing, []byte(strings.Repeat("f0", 32)+"\n"), 0o600))
	derive := func(code int, from, to string) string {
		t.Helper()
		got := recitalctl(t, nil, "audit", "derive-key", from, to)
		require.Equal(t, code, got.code, got.out+got.notes)
		return got.out + got.notes
	}
	require.Contains(t, derive(0, signing, key), "Its public key is ")
	content, err := os.ReadFile(key)
	require.NoError(t, err)
	require.Equal(t, "aba6a6c3ab76f948144aa32182156825d1969d7d9e8887c8c6d05e765d7f666d\n", string(content)) // by openssl kdf
	info, err := os.Stat(key)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	require.Contains(t, derive(1, signing, key), "file exists")
	again, err := os.ReadFile(key)
	require.NoError(t, err)
	require.Equal(t, content, again)

	require.NoError(t, os.WriteFile(signing, []byte("secret-but-no-key"), 0o600))
	said := derive(1, signing, filepath.Join(dir, "other"))
	require.Contains(t, said, "holds no key")
	require.NotContains(t, said, "secret-but")
	require.NoFileExists(t, filepath.Join(dir, "other"))
}
