package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	pgx   = "github.com/jackc/pgx/v5"
	uuid  = "github.com/google/uuid"
	fiber = "github.com/gofiber"
)

// ports are the folders of ports; their subpackages are adapters.
var ports = []string{
	"internal/access/keyring", "internal/events/eventlog",
	"internal/providers/blobs", "internal/providers/hosting", "internal/providers/notices", "internal/providers/payments",
	"internal/providers/signin",
	"internal/speech", "internal/speech/alignment", "internal/speech/audio", "internal/speech/cloning",
	"internal/speech/precheck",
}

// todo executes to-dos, and only commands and the app may import it. Its subpackages are adapters, too.
const todo = "internal/events/todo"

// sealed is a layer over any store of blobs, rather than an adapter.
const sealed = "internal/providers/blobs/sealed"

// noEngines are the packages below internal/speech that are not adapters for engines.
var noEngines = []string{
	"internal/speech/acoustics", "internal/speech/frontend", "internal/speech/generations", "internal/speech/loudness",
	"internal/speech/mastering", "internal/speech/rendering", "internal/speech/voicepack", "internal/speech/voices",
	"internal/speech/wordtimes",
}

// credentials is the room of API keys and sessions. Its subpackage is an adapter.
const credentials = "internal/access/credentials"

// rooms are the folders with a rule. The packages of a room may always import each other.
var rooms = []struct {
	folder    string
	exactly   []string          // packages of this module that it may import
	besides   map[string]string // an additional import of one of its packages
	below     []string          // folders whose packages it may import
	libraries []string          // outside of the standard library
}{
	{
		folder: "domain",
	},
	{
		folder: "commands",
		exactly: slices.Concat(ports, []string{todo, sealed, "internal/speech/wordtimes", "internal/events/readmodel",
			"internal/speech/rendering", "internal/speech/generations", "internal/speech/voicepack",
			"internal/http/rates", "internal/http/spool",
			"internal/process/tracing", "internal/process/panics", "internal/events/chain", "internal/events/logcopy"}),
		below: []string{"domain"},
		libraries: []string{uuid, "github.com/cenkalti/backoff/v5", "github.com/hashicorp/golang-lru/v2",
			"github.com/mileusna/useragent", "golang.org/x/sync", "golang.org/x/time"},
	},
	{
		folder: "projections",
		exactly: []string{"internal/events/feed", "internal/events/feed/table", "internal/events/readmodel",
			"internal/events/eventlog"},
		below:     []string{"domain"},
		libraries: []string{pgx, uuid},
	},
	{
		// Plans and currencies are tables of constants, and errors are shared. Decisions are not imported.
		folder: "readapi",
		exactly: []string{"domain", "domain/money", "domain/plan", "internal/providers/blobs", sealed,
			"internal/access/keyring", "internal/http/links", "internal/events/readmodel", "internal/speech/voices",
			"internal/speech/wordtimes"},
		below:     []string{"internal/http/web", "internal/http/adminapi"},
		libraries: []string{pgx, uuid, fiber},
		// alerts has a sentence for each reason
		besides: map[string]string{"readapi/alerts": "domain/alert", "readapi/changes": "internal/events/changes"},
	},
	{
		folder: "writeapi",
		exactly: slices.Concat(ports, []string{"internal/http/links", "internal/events/logcopy",
			"internal/events/readmodel", "internal/speech/voicepack", "internal/speech/voices", "internal/process/health"}),
		below: []string{"internal/http/web", "internal/http/adminapi", "commands", "domain"},
		// operators manage the read models
		besides:   map[string]string{"writeapi/operations": "internal/events/feed", "writeapi/skips": "internal/events/feed"},
		libraries: []string{uuid, fiber, "golang.org/x/sync"},
	},
	{
		// The app translates between credentials and the transports.
		folder:    credentials,
		exactly:   []string{"internal/events/eventlog", "internal/events/readmodel"},
		below:     []string{"domain"},
		libraries: []string{pgx, "github.com/hashicorp/golang-lru/v2"},
	},
	{
		folder:    "migrations",
		libraries: []string{pgx, "github.com/pressly/goose/v3"},
	},
}

func TestEachRoomImportsOnlyWhatItMay(t *testing.T) {
	for _, p := range packages(t) {
		for _, room := range rooms {
			if !within(p.path(), room.folder) || isTestSupport(p.path()) {
				continue
			}
			for _, imported := range p.ours() {
				allowed := within(imported, room.folder) || within(imported, room.below...) ||
					slices.Contains(room.exactly, imported) || imported == room.besides[p.path()]
				assert.True(t, allowed, "%s may not import %s", p.path(), imported)
			}
			for _, imported := range p.others() {
				assert.True(t, within(imported, room.libraries...), "%s may not import the library %s", p.path(), imported)
			}
		}
	}
}

func TestReadAndWriteRoutesDoNotKnowEachOther(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.ours() {
			assert.False(t, within(p.path(), "readapi") && within(imported, "writeapi", "commands"), "%s imports %s", p.path(),
				imported)
			assert.False(t, within(p.path(), "writeapi") && within(imported, "readapi", "projections"), "%s imports %s",
				p.path(), imported)
		}
	}
}

// floors are the folders that have one room for each slice.
var floors = []string{"commands", "projections", "readapi", "writeapi"}

// across are the only imports from one slice to another: a synthesis reserves and settles characters, and keeps clips.
var across = map[string][]string{"synthesis": {"ledger", "clips"}}

// kernel is used by the commands of every slice.
const kernel = "commands/journal"

// Only the app connects slices: a slice imports packages that its floor shares, the kernel, and rooms of its own name.
func TestSlicesDoNotKnowEachOther(t *testing.T) {
	for _, p := range packages(t) {
		slice, ok := sliceOf(p.path())
		if !ok || isTestSupport(p.path()) {
			continue
		}
		for _, imported := range p.ours() {
			other, ok := sliceOf(imported)
			if !ok || imported == kernel {
				continue
			}
			assert.True(t, other == slice || slices.Contains(across[slice], other), "%s imports %s", p.path(), imported)
		}
	}
}

// A slice has the same name everywhere: each room of a floor belongs to a slice of the app.
func TestASliceHasOneNameOnEveryFloor(t *testing.T) {
	listed := slicesOfTheApp(t)
	for _, p := range packages(t) {
		slice, ok := sliceOf(p.path())
		if !ok || p.path() == kernel || isTestSupport(p.path()) {
			continue
		}
		assert.Contains(t, listed, slice, "%s belongs to no slice in internal/app", p.path())
	}
	app := sourceOfTheApp(t)
	for _, slice := range listed {
		_, after, found := strings.Cut(app, "\nfunc "+slice+"Slice(")
		assert.True(t, found, "the slice %s is not in internal/app", slice)
		body, _, _ := strings.Cut(after, "\n}\n")
		assert.Regexp(t, `\bname:\s+"`+slice+`"`, body, "the slice %s has another name", slice)
	}
}

func sourceOfTheApp(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../app/*.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(source)
	}
	return all.String()
}

// sliceOf returns the slice to which a package belongs.
func sliceOf(path string) (slice string, ok bool) {
	floor, rest, below := strings.Cut(path, "/")
	if !below || !slices.Contains(floors, floor) {
		return "", false
	}
	slice, _, _ = strings.Cut(rest, "/")
	return slice, true
}

// slicesOfTheApp reads the list of slices.
func slicesOfTheApp(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../app/slice.go")
	require.NoError(t, err)
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^\t\t(\w+)Slice\(.*\),$`).FindAllSubmatch(source, -1) {
		listed = append(listed, string(match[1]))
	}
	require.NotEmpty(t, listed)
	return listed
}

// Adapters are selected in one place.
func TestOnlyTheAppAndTheProgramsImportAdapters(t *testing.T) {
	for _, p := range packages(t) {
		if within(p.path(), "internal/app", "cmd") || isTestSupport(p.path()) {
			continue
		}
		for _, imported := range p.ours() {
			if port, ok := portOf(imported); ok {
				assert.True(t, within(p.path(), port), "%s imports %s, an adapter", p.path(), imported)
			}
		}
	}
}

// Rooms may import internal packages, and the app may import rooms, but not the other way round.
func TestInternalPackagesDoNotImportTheRooms(t *testing.T) {
	for _, p := range packages(t) {
		if !within(p.path(), "internal") || within(p.path(), "internal/app") || isTestSupport(p.path()) {
			continue
		}
		for _, imported := range p.ours() {
			assert.False(t, within(imported, "commands", "projections", "readapi", "writeapi", "internal/app", "cmd"),
				"%s imports %s", p.path(), imported)
		}
	}
}

// Projections list what is due, and routes append events; neither executes to-dos.
func TestOnlyCommandsAndTheAppImportToDoWorkers(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.ours() {
			if within(imported, todo) && !isTestSupport(p.path()) {
				assert.True(t, within(p.path(), todo, "commands", "internal/app"), "%s imports %s", p.path(), imported)
			}
		}
	}
}

// recitalctl uses recitald for everything except logs that no recitald serves: it copies them, and a restore looks up
// in them which data is still needed.
func TestTheOperatorsToolIsAClientOfTheAdminAPI(t *testing.T) {
	restores := []string{
		"commands/accounts", "commands/clips", "commands/journal", "commands/packages", "commands/skips", "commands/voices",
	}
	for _, p := range packages(t) {
		if !within(p.path(), "cmd/recitalctl") {
			continue
		}
		for _, imported := range p.ours() {
			barred := within(imported, "commands", "projections", "readapi", "writeapi", "internal/app", "internal/events/feed")
			assert.False(t, barred && !slices.Contains(restores, imported),
				"%s imports %s", p.path(), imported)
		}
	}
}

func TestPackagesForTestsStayInTests(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.ours() {
			assert.False(t, isTestSupport(imported) && !isTestSupport(p.path()), "%s imports %s, which is for tests", p.path(),
				imported)
		}
	}
}

// recitald and recitalctl are pure Go: a fault in a C library may cost one worker, never the server.
func TestOnlySpeechworkerLinksC(t *testing.T) {
	all := map[string]goPackage{}
	for _, p := range packages(t) {
		all[p.path()] = p
	}
	var linksC func(path string) bool
	linksC = func(path string) bool {
		p := all[path]
		if len(p.CgoFiles) > 0 {
			return true
		}
		for _, imported := range p.ours() {
			if linksC(imported) {
				return true
			}
		}
		return false
	}
	assert.True(t, linksC("cmd/speechworker"), "the walk finds no C where there is some")
	for path, p := range all {
		if p.Name == "main" && !within(path, "cmd/speechworker") {
			assert.False(t, linksC(path), "%s links C", path)
		}
		for _, imported := range p.ours() {
			if len(all[imported].CgoFiles) > 0 && !isTestSupport(imported) {
				assert.True(t, len(p.CgoFiles) > 0 || within(path, "cmd/speechworker"), "%s imports %s, which links C", path,
					imported)
			}
		}
	}
}

func TestNoFolderHasAMeaninglessName(t *testing.T) {
	for _, p := range packages(t) {
		for _, part := range strings.Split(p.path(), "/") {
			assert.NotContains(t, []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"}, part,
				p.path())
		}
	}
}

// portOf returns the port that a package is an adapter of.
func portOf(path string) (string, bool) {
	all := append([]string{todo, credentials}, ports...)
	if path == sealed || slices.Contains(all, path) || within(path, noEngines...) {
		return "", false
	}
	for _, port := range all {
		if within(path, port) {
			return port, true
		}
	}
	return "", false
}

// isTestSupport reports whether a package exists for tests; its name then ends in test, like httptest's.
func isTestSupport(path string) bool { return strings.HasSuffix(path, "test") }
