package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

// guides are the files of docs/ with commands to run. In a console block, a line that begins with "$ " is a command,
// which may end with "# exits with N" or "# ends with Ctrl-C". The lines below it are in its output, in this order. In
// them … matches anything, and a $NAME without a value gets the word at its place. EMAIL and ACCOUNT are those of a
// person, CLOSED is a closed account, EVENTSTORE is an empty event store. An ini block is a file with its path in the
// first line. The test carries out systemctl start, stop and restart. It replaces /etc/recital, /var/lib/recital,
// /var/backups/recital and the ports 8080 and 8081.
var guides = []string{"operators", "auditors"}

// step is a command of a guide.
type step struct {
	line    int // of the guide
	command string
	code    int      // the exit code that the guide names
	ended   bool     // whether a person ends it with Ctrl-C
	shows   []string // lines of its output, in order
}

// file is a complete settings file in a guide. Its first line is a comment with its path.
type file struct{ path, text string }

// guide is the executable content of a guide.
type guide struct {
	steps []step
	files []file
	prose string // all text outside of blocks
}

var (
	exitNote   = regexp.MustCompile(`\s+# exits with (\d+)$`)
	ctrlCNote  = regexp.MustCompile(`\s+# ends with Ctrl-C$`)
	fence      = regexp.MustCompile("^```(.*)$")
	filePath   = regexp.MustCompile(`^# (/\S+)$`)
	inlineCode = regexp.MustCompile("`recitalctl ([^`]*)`")
	placed     = regexp.MustCompile(`\$([A-Z_]+)`)
)

// readGuide reads a guide. Its blocks must be commands (console) or settings (ini), so that all of them are tested.
func readGuide(t *testing.T, name string) (g guide) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name+".md"))
	require.NoError(t, err)
	kind := ""
	for i, line := range strings.Split(string(text), "\n") {
		if found := fence.FindStringSubmatch(line); found != nil {
			kind = found[1]
			require.Contains(t, []string{"", "console", "ini"}, kind, "docs/%s.md:%d", name, i+1)
			if kind == "ini" {
				g.files = append(g.files, file{})
			}
			continue
		}
		switch kind {
		case "":
			g.prose += line + "\n"
		case "console":
			g.addToConsole(t, i+1, line)
		case "ini":
			g.files[len(g.files)-1].add(t, line)
		}
	}
	return g
}

func (f *file) add(t *testing.T, line string) {
	t.Helper()
	if f.path == "" {
		found := filePath.FindStringSubmatch(line)
		require.NotNil(t, found, "the first line of settings is the path of their file: %s", line)
		f.path = found[1]
	}
	f.text += line + "\n"
}

func (g *guide) addToConsole(t *testing.T, number int, line string) {
	t.Helper()
	command, ok := strings.CutPrefix(line, "$ ")
	if !ok {
		require.NotEmpty(t, g.steps, "line %d: a block begins with a command", number)
		last := &g.steps[len(g.steps)-1]
		last.shows = append(last.shows, line)
		return
	}
	s := step{line: number}
	if found := exitNote.FindStringSubmatch(command); found != nil {
		s.code, _ = strconv.Atoi(found[1]) // digits
	}
	s.ended = ctrlCNote.MatchString(command)
	s.command = ctrlCNote.ReplaceAllString(exitNote.ReplaceAllString(command, ""), "")
	g.steps = append(g.steps, s)
}

// mentions returns the mentions of recitalctl in a guide's commands and prose.
func (g guide) mentions() (all []string) {
	for _, s := range g.steps {
		all = append(all, strings.Split(s.command, "recitalctl ")[1:]...)
	}
	for _, found := range inlineCode.FindAllStringSubmatch(g.prose, -1) {
		all = append(all, found[1])
	}
	return all
}

// The guides name every command of recitalctl, and no others.
func TestTheGuidesNameEveryCommand(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&commands{})
	require.NoError(t, err)
	var mentions []string
	for _, name := range guides {
		mentions = append(mentions, readGuide(t, name).mentions()...)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		named := false
		for _, mention := range mentions {
			named = named || commandOf(parser.Model.Node, mention) == leaf
		}
		assert.True(t, named, "no guide names recitalctl %s", leaf.Path())
	}
	for _, mention := range mentions {
		assert.NotNil(t, commandOf(parser.Model.Node, mention), "there is no recitalctl %s", mention)
	}
}

// commandOf returns the command in a line, or nil.
func commandOf(node *kong.Node, line string) *kong.Node {
	for _, word := range strings.Fields(line) {
		next := childOf(node, word)
		if next == nil {
			break
		}
		node = next
	}
	if node.DefaultCmd != nil {
		node = node.DefaultCmd
	}
	if node.Type == kong.ApplicationNode && !strings.HasPrefix(line, "--") || len(node.Children) > 0 &&
		!strings.Contains(line, "--help") {
		return nil
	}
	return node
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// All commands of a guide are run in order, on one recitald, in one folder.
func TestTheGuidesCanBeFollowed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t, name)
			for _, s := range r.guide.steps {
				r.follow(s)
			}
		})
	}
}

// reader is a person who follows a guide, on a machine of their own.
type reader struct {
	t      *testing.T
	name   string
	guide  guide
	here   string
	places []string // pairs: a folder or address in a guide, and its replacement in the test
	values map[string]string
	server *service
}

// follow carries out a step.
func (r *reader) follow(s step) {
	r.t.Helper()
	at := r.name + ".md:" + strconv.Itoa(s.line) + ": " + s.command
	if action, ok := strings.CutPrefix(s.command, "sudo systemctl "); ok {
		r.manage(action, at)
		return
	}
	command := strings.TrimPrefix(s.command, "sudo ") // the test does not need root
	shell := exec.CommandContext(r.t.Context(), "bash", "-c", "set -o pipefail; "+r.place(command))
	shell.Dir, shell.Env = r.here, r.environment()
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said testlog.Buffer
	shell.Stdout, shell.Stderr = &said, &said
	require.NoError(r.t, shell.Start(), at)
	if s.ended {
		require.Eventually(r.t, func() bool { return r.isShown(s, said.String()) }, patience, interval, at)
		require.NoError(r.t, syscall.Kill(-shell.Process.Pid, syscall.SIGINT))
	}
	if err := shell.Wait(); !errors.As(err, new(*exec.ExitError)) {
		require.NoError(r.t, err, at)
	}
	if !s.ended {
		require.Equal(r.t, s.code, shell.ProcessState.ExitCode(), "%s\n%s", at, said.String())
	}
	require.True(r.t, r.isShown(s, said.String()), "%s\nprints\n%s\nbut the guide has\n%s", at, said.String(),
		strings.Join(s.shows, "\n"))
}

// isShown reports whether an output has the guide's lines in order, possibly with others between them. A $NAME without
// a value is set, and … matches anything.
func (r *reader) isShown(s step, output string) bool {
	r.t.Helper()
	lines := strings.Split(output, "\n")
	found := maps.Clone(r.values)
	for _, want := range s.shows {
		pattern := r.pattern(want, found)
		i := 0
		for ; i < len(lines) && !pattern.MatchString(lines[i]); i++ {
		}
		if i == len(lines) {
			return false
		}
		values := pattern.FindStringSubmatch(lines[i])
		for j, name := range pattern.SubexpNames() {
			if name != "" {
				found[name] = values[j]
			}
		}
		lines = lines[i+1:]
	}
	r.values = found
	return true
}

func (r *reader) pattern(line string, values map[string]string) *regexp.Regexp {
	fields := strings.Fields(r.place(line))
	for i, field := range fields {
		field = regexp.QuoteMeta(field)
		field = strings.ReplaceAll(field, "…", ".*")
		fields[i] = placed.ReplaceAllStringFunc(strings.ReplaceAll(field, `\$`, "$"), func(name string) string {
			if value := values[name[1:]]; value != "" {
				return regexp.QuoteMeta(value)
			}
			return `(?P<` + name[1:] + `>[^\s",]+)`
		})
	}
	return regexp.MustCompile(`^\s*` + strings.Join(fields, `\s+`) + `\s*$`)
}

// place replaces the folders and addresses in a guide with the test's.
func (r *reader) place(text string) string { return strings.NewReplacer(r.places...).Replace(text) }

func (r *reader) environment() []string {
	environment := []string{
		"PATH=" + filepath.Join(r.here, "bin") + ":" + filepath.Dir(speechworker.Path()) + ":" + os.Getenv("PATH"),
		"HOME=" + r.here, asTool + "=1",
		r.place("RECITAL_DATA_DIR=/var/lib/recital"),
	}
	for name, value := range r.values {
		environment = append(environment, name+"="+value)
	}
	return environment
}
