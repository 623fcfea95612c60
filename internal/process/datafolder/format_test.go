package datafolder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

func TestANewFolderIsMarkedFirst(t *testing.T) {
	f := open(t, t.TempDir())
	content, err := os.ReadFile(f.Path("format.json"))
	require.NoError(t, err)
	require.JSONEq(t, `{"format": "recital 1"}`, string(content))
	reopen(t, f)
}

func TestAFolderThatAnOperatorHasPreparedIsNew(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "eventnode", "lost+found"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "operator-token"), []byte("secret"), 0o600))
	require.FileExists(t, open(t, dir).Path("format.json"))
}

// Nothing is written into a folder that is refused.
func TestAFolderOfAnUnreleasedBuildIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ file, content, refused string }{
		"an embedded log":           {"eventnode/LOCK", "", "comes from an unreleased build"},
		"a private Postgres":        {"postgres/data/PG_VERSION", "15", "comes from an unreleased build"},
		"a recitald has served":     {"addresses", "{}", "comes from an unreleased build"},
		"the mark has no format":    {"format.json", "{}", "comes from an unreleased build"},
		"the mark has another one":  {"format.json", `{"format": "recital 2"}`, `has the format "recital 2", but Recital 1.`},
		"the mark cannot be a mark": {"format.json", "recital", "reading the format of the data folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, c.file)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600))
			_, err := datafolder.Open(dir)
			require.ErrorContains(t, err, c.refused)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1)
		})
	}
}

func TestARestoredFolderIsMarked(t *testing.T) {
	dir := t.TempDir()
	f, err := datafolder.OpenToRestore(dir, "b1")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(f.Path("eventnode"), 0o700))
	require.NoError(t, f.EndRestore())
	require.NoError(t, f.Close())
	open(t, dir)
}
