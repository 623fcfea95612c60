package architecture_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	pgx   = "github.com/jackc/pgx/v5"
	uuid  = "github.com/google/uuid"
	fiber = "github.com/gofiber"
)

// ports are the folders that say what the house needs from outside; their subpackages are adapters.
var ports = []string{
	"internal/eventlog", "internal/speech", "internal/audio", "internal/cloning", "internal/alignment",
	"internal/signin", "internal/payments", "internal/hosting", "internal/blobs", "internal/keyring",
}

// todo is the machinery of to-do lists, which only what carries out to-dos knows; its subpackages are adapters, too.
const todo = "internal/todo"

// rooms are the folders with a rule. The packages of a room may always import each other.
var rooms = []struct {
	folder    string
	exactly   []string          // packages of this module that it may import
	besides   map[string]string // what one of its packages may import, too
	below     []string          // folders whose packages it may import
	libraries []string          // outside of the standard library
}{
	{
		folder: "domain",
	},
	{
		folder:    "commands",
		exactly:   slices.Concat(ports, []string{todo, "internal/wordtimes"}),
		below:     []string{"domain"},
		libraries: []string{uuid, "github.com/cenkalti/backoff/v5", "github.com/hashicorp/golang-lru/v2", "golang.org/x/sync", "golang.org/x/time"},
	},
	{
		folder:    "projections",
		exactly:   []string{"internal/feed", "internal/feed/table", "internal/eventlog"},
		below:     []string{"domain"},
		libraries: []string{pgx, uuid},
	},
	{
		// The plans are a table of constants, and the errors are those of the house; decisions stay out.
		folder:    "readapi",
		exactly:   []string{"domain", "domain/plan", "internal/blobs", "internal/keyring", "internal/wordtimes"},
		below:     []string{"internal/web"},
		libraries: []string{pgx, uuid, fiber},
	},
	{
		folder:    "writeapi",
		exactly:   ports,
		below:     []string{"internal/web", "commands", "domain"},
		besides:   map[string]string{"writeapi/ops": "internal/feed"}, // what operators do with the read models
		libraries: []string{uuid, fiber, "golang.org/x/sync"},
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
			assert.False(t, within(p.path(), "readapi") && within(imported, "writeapi", "commands"), "%s imports %s", p.path(), imported)
			assert.False(t, within(p.path(), "writeapi") && within(imported, "readapi", "projections"), "%s imports %s", p.path(), imported)
		}
	}
}

// Slices meet in the app: a room of projections or of read routes imports none beside it.
func TestRoomsOfOneFloorDoNotKnowEachOther(t *testing.T) {
	for _, floor := range []string{"projections", "readapi"} {
		for _, p := range packages(t) {
			for _, imported := range p.ours() {
				if within(p.path(), floor) && within(imported, floor) {
					assert.True(t, imported == floor || p.path() != floor && within(imported, p.path()), "%s imports %s", p.path(), imported)
				}
			}
		}
	}
}

// Whatever talks to the outside is chosen in one place.
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

// The rooms are above what is internal, and the app is above them.
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

// A projection lists what is due, and routes append events; neither knows who carries things out.
func TestOnlyCommandsAndTheAppKnowOfToDoWorkers(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.ours() {
			if within(imported, todo) && !isTestSupport(p.path()) {
				assert.True(t, within(p.path(), todo, "commands", "internal/app"), "%s imports %s", p.path(), imported)
			}
		}
	}
}

func TestTheOperatorsToolIsAClientOfTheAdminAPI(t *testing.T) {
	for _, p := range packages(t) {
		if !within(p.path(), "cmd/recitalctl") {
			continue
		}
		for _, imported := range p.ours() {
			assert.False(t, within(imported, "commands", "projections", "readapi", "writeapi", "internal/app", "internal/feed", "internal/eventlog"),
				"%s imports %s", p.path(), imported)
		}
	}
}

func TestPackagesForTestsStayInTests(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.ours() {
			assert.False(t, isTestSupport(imported) && !isTestSupport(p.path()), "%s imports %s, which is for tests", p.path(), imported)
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
				assert.True(t, len(p.CgoFiles) > 0 || within(path, "cmd/speechworker"), "%s imports %s, which links C", path, imported)
			}
		}
	}
}

func TestNoFolderHasANameThatSaysNothing(t *testing.T) {
	for _, p := range packages(t) {
		for _, part := range strings.Split(p.path(), "/") {
			assert.NotContains(t, []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"}, part, p.path())
		}
	}
}

// portOf tells which port a package is an adapter of.
func portOf(path string) (string, bool) {
	for _, port := range slices.Concat(ports, []string{todo}) {
		if path != port && within(path, port) {
			return port, true
		}
	}
	return "", false
}

// isTestSupport tells whether a package exists for the tests of others, which its name ends in, like httptest's.
func isTestSupport(path string) bool { return strings.HasSuffix(path, "test") }
