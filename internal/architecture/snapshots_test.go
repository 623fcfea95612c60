package architecture_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Folding a snapshot replaces the state: each aggregate with snapshots has a test of this.
func TestEachAggregateWithSnapshotsChecksTheirLaw(t *testing.T) {
	var with, checked []string
	files, err := filepath.Glob("../../domain/*/*.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		aggregate := filepath.Base(filepath.Dir(file))
		if strings.Contains(string(source), ") ReplacesState() {") {
			with = append(with, aggregate)
		}
		if strings.HasSuffix(file, "_test.go") && strings.Contains(string(source), "spec.FromSnapshot(") {
			checked = append(checked, aggregate)
		}
	}
	require.GreaterOrEqual(t, len(with), 8)
	require.Subset(t, checked, with)
}
