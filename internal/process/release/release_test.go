package release_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/release"
)

func TestOnlyTheFormatOfThisReleaseIsAccepted(t *testing.T) {
	require.NoError(t, release.CheckFormat("the backup", release.Format))
	require.EqualError(t, release.CheckFormat("the backup", ""),
		"the backup comes from an unreleased build, whose data no release can use: start with an empty one")
	require.EqualError(t, release.CheckFormat("the backup", "recital 2"),
		`the backup has the format "recital 2", but Recital `+release.Version+` uses "recital 1": `+
			`run the release that wrote it, or start with an empty one`)
}

func TestTheNameOfABuildBeginsWithTheVersion(t *testing.T) {
	require.Regexp(t, `^`+regexp.QuoteMeta(release.Version)+`( \([0-9a-f]{12}\))?$`, release.Build())
}

func TestTheChangelogHasTheVersion(t *testing.T) {
	changelog, err := os.ReadFile("../../../CHANGELOG.md")
	require.NoError(t, err)
	var newest string
	for line := range strings.Lines(string(changelog)) {
		if heading, ok := strings.CutPrefix(line, "## ["); ok && !strings.HasPrefix(heading, "Unreleased") {
			newest, _, _ = strings.Cut(heading, "]")
			break
		}
	}
	require.Equal(t, release.Version, newest)
}
