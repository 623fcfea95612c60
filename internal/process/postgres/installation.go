package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrNotInstalled means that this machine has no PostgreSQL server binaries.
var ErrNotInstalled = errors.New("no PostgreSQL server binaries found; install them (on Debian: apt-get install " +
	"postgresql) or set RECITAL_POSTGRES to the URL of a server")

// Installation is a folder with the server binaries of one PostgreSQL version.
type Installation struct {
	Bin   string // the folder that holds postgres and initdb
	Major int    // 15 of "15.18"
}

// Find returns the newest installation, or the one of the given major version when major is not zero.
func Find(ctx context.Context, major int) (Installation, error) {
	return find(ctx, candidates(ctx), major)
}

func find(ctx context.Context, folders []string, major int) (Installation, error) {
	var found []Installation
	for i, folder := range folders {
		if slices.Contains(folders[:i], folder) { // most are found in several ways
			continue
		}
		if installation, ok := inspect(ctx, folder); ok {
			found = append(found, installation)
		}
	}
	if err := ctx.Err(); err != nil { // its end also stops the programs that are run
		return Installation{}, fmt.Errorf("looking for PostgreSQL: %w", err)
	}
	if len(found) == 0 {
		return Installation{}, ErrNotInstalled
	}
	slices.SortStableFunc(found, func(a, b Installation) int { return b.Major - a.Major })
	if major == 0 {
		return found[0], nil
	}
	for _, installation := range found {
		if installation.Major == major {
			return installation, nil
		}
	}
	return Installation{}, fmt.Errorf("PostgreSQL %d is not installed (the newest here is %d); install it (on Debian: "+
		"apt-get install postgresql-%d)", major, found[0].Major, major)
}

// candidates returns the folders in which server binaries may be.
func candidates(ctx context.Context) []string {
	var folders []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		folders = append(folders, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} { // Debian, Red Hat
		matches, _ := filepath.Glob(pattern) // the patterns are well-formed
		folders = append(folders, matches...)
	}
	return folders
}

var versionPattern = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

// inspect reports whether folder contains a complete server: libpq's pg_config alone also points to a folder.
func inspect(ctx context.Context, folder string) (Installation, bool) {
	if _, err := os.Stat(filepath.Join(folder, "initdb")); err != nil {
		return Installation{}, false
	}
	out, err := exec.CommandContext(ctx, filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return Installation{}, false
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return Installation{}, false
	}
	major, err := strconv.Atoi(string(match[1]))
	return Installation{Bin: folder, Major: major}, err == nil
}

func (i Installation) path(program string) string { return filepath.Join(i.Bin, program) }
