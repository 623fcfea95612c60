package eventnode

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/protocol"
)

// written is a store as after a crash, with its acknowledged appends.
type written struct {
	fs        *vfs.MemFS
	ids       []uuid.UUID // of all events, in log order
	logFile   string      // the newest log file
	logged    []logged    // the appends in it
	elsewhere int         // number of earlier events, in tables or older log files
}

// logged is the position of an append in the log file.
type logged struct{ from, to, ids int }

// fataler is the common part of *testing.T and *rapid.T.
type fataler interface {
	require.TestingT
	Helper()
}

// writeStore appends groups of events of the given sizes. Before a marked append, all events are moved to a table.
func writeStore(t fataler, sizes [][]int, flush []bool) *written {
	t.Helper()
	w := &written{fs: vfs.NewCrashableMem()}
	require.NoError(t, w.fs.MkdirAll("log", 0o700))
	s, c := openLogOn(t, w.fs)
	for i, group := range sizes {
		if flush[i] {
			require.NoError(t, s.db.Flush())
		}
		w.log(t, c, group)
	}
	crashed := w.fs.CrashClone(vfs.CrashCloneCfg{})
	require.NoError(t, s.close())
	w.fs = crashed
	return w
}

// log appends, and records the position in the log file.
func (w *written) log(t fataler, c *committer, sizes []int) {
	t.Helper()
	before, file := len(w.ids), newest(t, w.fs, ".log")
	from := endOfLog(t, w.fs, file)
	w.append(t, c, sizes)
	if now := newest(t, w.fs, ".log"); now != file { // Pebble has switched to another file for the append
		file, from = now, 0
	}
	if file != w.logFile {
		w.logFile, w.logged, w.elsewhere = file, nil, before
	}
	w.logged = append(w.logged, logged{from: from, to: endOfLog(t, w.fs, file), ids: len(w.ids)})
}

func (w *written) append(t fataler, c *committer, sizes []int) {
	t.Helper()
	stream := []string{"a", "b", "c"}[len(w.ids)%3]
	r := &request{ctx: context.Background(), stream: stream, expected: expectAny, answer: make(chan outcome, 1)}
	for i, size := range sizes {
		id := uuid.NewSHA1(uuid.Nil, fmt.Append(nil, len(w.ids)+i)) // the same in each run: its encoding varies in length
		r.ids = append(r.ids, id)
		r.events = append(r.events, propose(stream, id, "kind", protocol.ContentTypeBinary, nil, make([]byte, size)))
	}
	require.NoError(t, c.commit([]*request{r}))
	answer := <-r.answer
	require.NoError(t, answer.err)
	require.Equal(t, accepted, answer.verdict)
	w.ids = append(w.ids, r.ids...)
}

func openLogOn(t fataler, fs vfs.FS) (*store, *committer) {
	t.Helper()
	s, err := openStore(fs, "log", slog.New(slog.DiscardHandler), func(error) {})
	require.NoError(t, err)
	c, err := newCommitter(s)
	require.NoError(t, err)
	return s, c
}

// endOfLog returns the end of the records of a log file; a reused file still has older ones after them.
func endOfLog(t fataler, fs vfs.FS, path string) int {
	t.Helper()
	number, _, ok := wal.ParseLogFilename(fs.PathBase(path))
	require.True(t, ok)
	end := 0
	for block := range slices.Chunk(readFile(t, fs, path), blockSize) {
		whole := wholeChunks(block, uint32(number))
		end += whole
		if whole < blockSize {
			break
		}
	}
	return end
}

// newest returns the file of a kind with the highest number, or "".
func newest(t fataler, fs vfs.FS, kind string) string {
	t.Helper()
	names, err := fs.List("log")
	require.NoError(t, err)
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		if strings.HasPrefix(name, kind) || strings.HasSuffix(name, kind) {
			return fs.PathJoin("log", name)
		}
	}
	return ""
}

func readFile(t fataler, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	require.NoError(t, err)
	content, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return content
}

func replaceFile(t fataler, fs vfs.FS, path string, content []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

// damageFile changes each byte of a part of a file, or truncates the file at the start of the part.
func damageFile(t *rapid.T, fs vfs.FS, path string) part {
	content := readFile(t, fs, path)
	p := drawPart(t, len(content))
	if p.cut {
		content = content[:p.from]
	}
	for i := p.from; i < p.to && !p.cut; i++ {
		content[i] ^= 0xa5
	}
	replaceFile(t, fs, path, content)
	return p
}

// contentOf returns the contents of a store on the file system, or the error of opening it. A store that opens must be
// complete and writable.
func contentOf(t fataler, fs vfs.FS) ([]uuid.UUID, error) {
	t.Helper()
	s, err := openStore(fs, "log", slog.New(slog.DiscardHandler), func(error) {})
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, s.close()) }()
	c, err := newCommitter(s)
	if err != nil {
		return nil, err
	}
	if err := verifyAll(s); err != nil {
		return nil, err
	}
	found, err := readIDs(s, c.last)
	if err != nil {
		return nil, err
	}
	more := &written{ids: append([]uuid.UUID(nil), found...)}
	more.append(t, c, []int{1, 2})
	require.NoError(t, verifyAll(s))
	after, err := readIDs(s, c.last)
	require.NoError(t, err)
	require.Equal(t, more.ids, after)
	return found, nil
}

func verifyAll(s *store) error {
	v, err := newVerification(s, true)
	if err != nil {
		return err
	}
	return v.run(slog.New(slog.DiscardHandler), make(chan struct{}), nil, nil)
}

func readIDs(s *store, head uint64) ([]uuid.UUID, error) {
	ids := []uuid.UUID{}
	for after, done := uint64(0), false; !done; {
		p, err := s.allForwards(after, head, pageEvents, nil)
		if err != nil {
			return nil, err
		}
		for _, r := range p.events {
			ids = append(ids, r.id())
		}
		after, done = p.last, p.done
	}
	return ids, nil
}

// drawStore draws a store and the number of times that its events were moved to a table.
func drawStore(t *rapid.T) *written {
	event := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 300), rapid.IntRange(0, 40_000))
	sizes := rapid.SliceOfN(rapid.SliceOfN(event, 1, 4), 1, 25).Draw(t, "sizes")
	often := rapid.IntRange(0, 3).Draw(t, "how often")
	flush := make([]bool, len(sizes))
	for i := range flush {
		flush[i] = rapid.IntRange(0, 9).Draw(t, "flush") < often*often
	}
	return writeStore(t, sizes, flush)
}

// part is a damaged part of a file.
type part struct {
	from, to int
	cut      bool
}

func drawPart(t *rapid.T, length int) part {
	p := part{from: rapid.IntRange(0, length-1).Draw(t, "from"), to: length, cut: rapid.Bool().Draw(t, "cut")}
	if !p.cut && rapid.Bool().Draw(t, "middle") {
		p.to = rapid.IntRange(p.from+1, length).Draw(t, "to")
	}
	return p
}

// A log whose last bytes are truncated or overwritten opens again, with every acknowledged append before the damage. If
// complete appends follow the damage, the store does not open, because they would be omitted silently.
func TestDamagedLogFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawStore(t)
		p := damageFile(t, w.fs, w.logFile)
		before, behind := w.elsewhere, false
		for _, l := range w.logged {
			if l.to <= p.from {
				before = l.ids
			}
			behind = behind || l.from >= p.to
		}

		found, err := contentOf(t, w.fs)

		if err != nil {
			require.Less(t, p.to, w.logged[len(w.logged)-1].to, "refused for damage at the end: %v", err)
			require.Regexp(t, "log file is damaged|replaying WAL", err.Error())
			return
		}
		require.GreaterOrEqual(t, len(found), before)
		require.Equal(t, w.ids[:len(found)], found)
		if behind {
			require.Len(t, found, len(w.ids), "appends were dropped silently")
		}
	})
}

// Dropped writes are reported once, at the start. A log with a proper end causes no message.
func TestTornTailIsReported(t *testing.T) {
	w := writeStore(t, [][]int{{100}, {100}, {70_000, 100}}, []bool{false, false, false})
	last := w.logged[2]
	start := func() string {
		var output bytes.Buffer
		s, err := openStore(w.fs, "log", slog.New(slog.NewTextHandler(&output, nil)), func(error) {})
		require.NoError(t, err)
		require.NoError(t, s.close())
		return output.String()
	}
	content := readFile(t, w.fs, w.logFile)
	replaceFile(t, w.fs, w.logFile, append(content[:last.to-50], make([]byte, 1<<20)...)) // as if preallocated

	require.Contains(t, start(), "dropped\" file="+w.fs.PathBase(w.logFile))
	require.NotContains(t, start(), "incomplete")
}

// A store is refused if its tables, or the list of them, were changed or truncated anywhere, unless no event is
// missing.
func TestDamagedTables(t *testing.T) {
	for _, kind := range []string{".sst", "MANIFEST"} {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawStore(t)
				file := newest(t, w.fs, kind)
				if file == "" || len(readFile(t, w.fs, file)) == 0 {
					return
				}
				damageFile(t, w.fs, file)

				found, err := contentOf(t, w.fs)

				if err == nil {
					require.Equal(t, w.ids, found)
				}
			})
		})
	}
}

// damagedNode returns a node's folder with a table that has a wrong byte in the middle.
func damagedNode(t *testing.T) Config {
	t.Helper()
	cfg := failureConfig(t)
	for range 2 { // the second start moves the log into a table
		n, err := Open(cfg)
		require.NoError(t, err)
		client := failureClient(t, cfg.Socket)
		for range 20 {
			require.NoError(t, write(client, "a", esdb.Any{}, someEvent(5000)))
		}
		require.NoError(t, client.Close())
		require.NoError(t, n.Close())
	}
	tables, err := filepath.Glob(filepath.Join(cfg.Dir, "*.sst"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	content, err := os.ReadFile(tables[0])
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(tables[0], content, 0o600))
	return cfg
}

func TestOpenRefusesDamage(t *testing.T) {
	_, err := Open(damagedNode(t))
	require.ErrorContains(t, err, "verifying the event store")
	require.ErrorContains(t, err, "checksum")
}

// A log that takes long to verify is served meanwhile, except for the damaged part. Then the node stops.
func TestDamageThatIsFoundLater(t *testing.T) {
	n, err := open(damagedNode(t), vfs.Default, 0)
	if err == nil { // otherwise the verification was faster than this read
		<-n.Done()
		err = n.Err()
		require.NoError(t, n.Close())
	}
	require.ErrorContains(t, err, "checksum")
}
