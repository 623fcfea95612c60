// Package release names the release that the programs are built from, and the format of the data that it keeps.
package release

import (
	"fmt"
	"runtime/debug"
)

// Version is the release, as semver.org defines it. CHANGELOG.md has an entry for each.
const Version = "1.0.0"

// Format marks the data folders, logs and backups that this release reads and writes. It changes only when a later
// release cannot use them, which no upgrade within a major version does. Unreleased builds wrote another mark or none.
const Format = "recital 1"

// CheckFormat returns an error unless mark is Format. what names the marked object; mark is "" if it has none.
func CheckFormat(what, mark string) error {
	switch mark {
	case Format:
		return nil
	case "":
		return fmt.Errorf("%s comes from an unreleased build, whose data no release can use: start with an empty one", what)
	}
	return fmt.Errorf("%s has the format %q, but Recital %s uses %q: "+
		"run the release that wrote it, or start with an empty one", what, mark, Version, Format)
}

// Build returns the version, followed by the commit if the binary was built in a repository: "1.0.0 (2c7b508abcde)".
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return fmt.Sprintf("%s (%.12s)", Version, setting.Value)
		}
	}
	return Version
}
