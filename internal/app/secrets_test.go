package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheKeysOfADevFolderAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	start := func(dir string) secrets {
		a := inFolder(t, dir)
		require.NoError(t, a.readSecrets(t.Context()))
		require.NoError(t, a.Close())
		return a.secrets
	}
	first, second, other := start(dir), start(dir), start(t.TempDir())
	require.Equal(t, first, second)
	for _, pair := range [][2][]byte{
		{first.master, other.master}, {first.links, other.links},
		{first.generations, other.generations}, {first.generations, first.links}, {first.master, first.links},
		{first.operators, other.operators}, {first.operators, first.links},
		{first.audit.Seed(), other.audit.Seed()}, {first.audit.Seed(), first.links},
	} {
		require.Len(t, pair[0], 32)
		require.NotEqual(t, pair[0], pair[1])
	}
	require.ElementsMatch(t, []string{"audit-key", "master-key", "signing-key"}, names(t, dir))
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.EqualValues(t, 0o600, info.Mode().Perm())
	}
}

func TestTheConfiguredKeysAreReadAndNeverWritten(t *testing.T) {
	digits := func(pair string) string { return strings.Repeat(pair, 32) }
	for _, c := range []struct {
		name            string
		master, signing string // contents of the files; "-" is a missing file
		says            []string
	}{
		{"two keys", digits("0a") + "\n", digits("0b"), nil},
		{"capital digits", digits("0A"), digits("0B"), nil},
		{"no file", digits("0a"), "-", []string{"reading the signing-key", "no such file"}},
		{"an empty file", "", digits("0b"), []string{"master-key holds no key", "64 hex digits"}},
		{"a short one", digits("0a")[:32], digits("0b"), []string{"master-key holds no key", "openssl rand -hex 32"}},
		{"a long one", digits("0a") + "0a", digits("0b"), []string{"master-key holds no key"}},
		{"not hex digits", strings.Repeat("secret!!", 8), digits("0b"), []string{"master-key holds no key"}},
		{"one for both", digits("0a"), digits("0A") + "\n", []string{"are the same"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := t.TempDir()
			a := inFolder(t, t.TempDir())
			a.cfg.MasterKeyFile = filepath.Join(files, "master-key")
			a.cfg.SigningKeyFile = filepath.Join(files, "signing-key")
			a.cfg.AuditKeyFile = filepath.Join(files, "audit-key")
			write(t, a.cfg.AuditKeyFile, digits("0c"))
			write(t, a.cfg.MasterKeyFile, c.master)
			write(t, a.cfg.SigningKeyFile, c.signing)
			before := names(t, files)
			err := a.readSecrets(t.Context())
			assert.Equal(t, before, names(t, files))
			assert.Empty(t, names(t, a.cfg.DataDir))
			if c.says == nil {
				require.NoError(t, err)
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

func TestAddressesWithPasswordsMayBeFiles(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		write(t, path, text)
		return path
	}
	c := Config{
		EventStoreFile: file("events", "esdb://me:hidden@a:2113\n"),
		PostgresFile:   file("postgres", "host=db password=hidden\n"),
	}
	read, err := c.withSecrets()
	require.NoError(t, err)
	require.Equal(t, "esdb://me:hidden@a:2113", read.EventStore)
	require.Equal(t, "host=db password=hidden", read.Postgres)

	_, err = Config{PostgresFile: file("two", "postgres://hidden\npostgres://hidden\n")}.withSecrets()
	require.ErrorContains(t, err, "does not have one line")
	require.NotContains(t, err.Error(), "hidden")
}
