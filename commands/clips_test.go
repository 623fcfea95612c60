package commands_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/blobs"
	"github.com/recital-tts/recital/internal/blobs/folder"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/postgres/pgtest"
)

// archive is a studio that keeps results as clips, in a real folder, with a real keyring.
type archive struct {
	*studio
	pool   *pgxpool.Pool
	keys   *pgkeys.Keyring
	dir    string
	store  *folder.Store
	clips  *commands.Clips
	log    *safeBuffer
	models *shownTo
	late   time.Duration // how far the clock of the clips is ahead
}

// safeBuffer is written to by loggers.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// shownTo notes which read models were waited for last, and where.
type shownTo struct {
	names    []string
	position eventlog.Position
}

func (m *shownTo) Wait(_ context.Context, position eventlog.Position, names ...string) error {
	m.names, m.position = names, position
	return nil
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	a := &archive{studio: newStudio(t), pool: pgtest.New(t), dir: filepath.Join(t.TempDir(), "blobs"), log: &safeBuffer{}, models: &shownTo{}}
	logger := slog.New(slog.NewTextHandler(a.log, nil))
	var err error
	a.keys, err = pgkeys.Open(t.Context(), pgkeys.Config{Pool: a.pool, MasterKey: bytes.Repeat([]byte{1}, 32), Logger: logger})
	require.NoError(t, err)
	a.store, err = folder.Open(folder.Config{Dir: a.dir, Key: bytes.Repeat([]byte{2}, 32), Instance: "test", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	a.clips = commands.NewClips(a.journal, a.keys, a.store, func() time.Time { return time.Now().Add(a.late) }, logger)
	a.Synthesiser.Clips, a.Synthesiser.ReadModels = a.clips, a.models
	return a
}

// keep is an order whose result becomes a clip.
func keep(id, text string, format audio.Format) commands.Synthesis {
	o := order(id, text, format)
	o.Keep = &commands.Keepsake{Debug: true, OriginalText: "Es war einmal.", OriginalLanguage: "de"}
	return o
}

// blobs are the addresses of all blobs.
func (a *archive) blobs() (addresses []blobs.Address) {
	a.t.Helper()
	for blob, err := range a.store.List(a.t.Context(), "") {
		require.NoError(a.t, err)
		addresses = append(addresses, blob.Address)
	}
	return addresses
}

// files are all files of the store, unfinished ones included.
func (a *archive) files() (files []string) {
	a.t.Helper()
	require.NoError(a.t, filepath.WalkDir(a.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

func (a *archive) read(address blobs.Address) string {
	a.t.Helper()
	reader, err := a.store.Open(a.t.Context(), address, 0, 1<<40)
	require.NoError(a.t, err)
	defer reader.Close()
	content, err := io.ReadAll(reader)
	require.NoError(a.t, err)
	return string(content)
}

// saved is the event of a clip.
func (a *archive) saved(id string) clip.Saved {
	a.t.Helper()
	events := fold[clip.Event](a.world, clip.Stream(id))
	require.Len(a.t, events, 1)
	return events[0].(clip.Saved)
}

// save has a text spoken and kept, and gives the clip's id and the audio.
func (a *archive) save(account, text string) (id, sound string) {
	a.t.Helper()
	reply := a.begin(a.t.Context(), keep(account, text, audio.PCMS16LE))
	var got bytes.Buffer
	require.NoError(a.t, reply.Write(a.t.Context(), &got))
	return reply.Clip(), got.String()
}

func TestWhatWasHandedOverIsSaved(t *testing.T) {
	a := newArchive(t)
	ways := map[string]func(*commands.Reply, audio.Spec) string{
		"streamed": func(reply *commands.Reply, spec audio.Spec) string {
			var got bytes.Buffer
			require.NoError(t, reply.Write(t.Context(), &got))
			return string(audio.Whole(spec, got.Bytes())) // a file tells its length, a stream cannot
		},
		"whole": func(reply *commands.Reply, _ audio.Spec) string {
			recording, err := reply.Whole(t.Context())
			require.NoError(t, err)
			return heard(t, recording)
		},
	}
	for name, take := range ways {
		for _, format := range []audio.Format{audio.MP3, audio.WAV, audio.ULaw, audio.PCMS16LE} {
			t.Run(name+" as "+string(format), func(t *testing.T) {
				// when a reply is taken that shall be kept
				account := a.open("indie")
				o := keep(account, story, format)
				o.Language, o.Speed, o.Seed, o.Model, o.Length = "auto", 1.5, 7, "aurora", 0
				o.Prosody.Temperature, o.Prosody.Solver = new(0.5), "any words"
				reply := a.begin(t.Context(), o)
				require.True(t, clip.ValidID(reply.Clip()))
				sound := take(reply, o.Audio)

				// then the event says what it is
				saved := a.saved(reply.Clip())
				require.Equal(t, sound, a.read(blobs.Address(saved.Blob)))
				require.WithinDuration(t, time.Now(), saved.At, patience)
				require.Positive(t, saved.Milliseconds)
				if format == audio.PCMS16LE {
					require.InDelta(t, 1000*len(sound)/2/24000, saved.Milliseconds, 50, "milliseconds of samples")
				}
				require.Equal(t, clip.Saved{
					Clip: reply.Clip(), Account: account, Voice: "leah", Language: "en-us", Speed: 1.5, Format: string(format), SampleRate: 24000,
					MediaType: format.ContentType(), Characters: int64(utf8.RuneCountInString(story)), Milliseconds: saved.Milliseconds,
					Blob: saved.Blob, Bytes: int64(len(sound)), Seed: 7, Settings: clip.Settings{Model: "aurora", Temperature: new(0.5)},
					Debug: true, Sealed: saved.Sealed, At: saved.At,
				}, saved)

				// and only who has the account's key learns what was said
				content, err := a.keys.Open(t.Context(), account, saved.Sealed, clip.SealedFor(reply.Clip()))
				require.NoError(t, err)
				var c clip.Content
				require.NoError(t, json.Unmarshal(content, &c))
				require.Equal(t, clip.Content{Text: story, OriginalText: "Es war einmal.", OriginalLanguage: "de", Solver: "any words"}, c)

				// and the reply has waited until both the characters and the clip are shown
				require.Equal(t, []string{"usage", "clips"}, a.models.names)
				require.Equal(t, a.lastOf(clip.Stream(reply.Clip())), a.models.position)
				require.EqualValues(t, utf8.RuneCountInString(story), a.books(account).Settled)
			})
		}
	}
	require.Len(t, a.files(), 4*len(ways), "a clip has one file")
	require.NotContains(t, a.log.String(), "Once upon")
}

// lastOf is the position of a stream's last event.
func (a *archive) lastOf(stream string) (position eventlog.Position) {
	a.t.Helper()
	for recorded, err := range a.world.log.ReadStream(a.t.Context(), stream, 0) {
		require.NoError(a.t, err)
		position = recorded.Position
	}
	return position
}

func TestNothingIsSavedThatWasNotAskedFor(t *testing.T) {
	a := newArchive(t)
	reply := a.begin(t.Context(), order(a.open("indie"), story, audio.MP3))
	require.Empty(t, reply.Clip())
	require.NoError(t, reply.Write(t.Context(), io.Discard))
	require.Equal(t, []string{"usage"}, a.models.names)
	require.Empty(t, a.files())
}

func TestTheSameResultTwiceIsTwoClips(t *testing.T) {
	a := newArchive(t)
	account := a.open("indie")
	first, sound := a.save(account, "Hello.")
	second, same := a.save(account, "Hello.")
	require.Equal(t, sound, same)
	require.NotEqual(t, a.saved(first).Blob, a.saved(second).Blob)

	// so that deleting one leaves the other
	address := blobs.Address(a.saved(second).Blob)
	_, err := a.clips.Delete(t.Context(), first, account, operator)
	require.NoError(t, err)
	require.Equal(t, sound, a.read(address))
}

// Whoever hangs up, whenever, saves nothing, and pays as without a clip.
func TestRepliesThatAreCutAreNotSaved(t *testing.T) {
	a := newArchive(t)
	_, whole := a.save(a.open("indie"), story)
	rapid.Check(t, func(rt *rapid.T) {
		account := a.open("indie")
		takes := rapid.Int64Range(0, int64(len(whole))+1000).Draw(rt, "bytes that the client takes")
		reply := a.begin(t.Context(), keep(account, story, audio.PCMS16LE))
		c := &client{takes: takes}
		err := reply.Write(t.Context(), c)
		events := fold[clip.Event](a.world, clip.Stream(reply.Clip()))
		if err != nil {
			require.ErrorIs(rt, err, errHungUp)
			require.Empty(rt, events)
			require.Less(rt, c.taken.Len(), len(whole))
		} else {
			require.Len(rt, events, 1)
			require.Equal(rt, whole, c.taken.String())
		}
		saved := 0
		for _, blob := range a.blobs() {
			if strings.HasPrefix(string(blob), clip.Stream(reply.Clip())+".") {
				saved++
			}
		}
		require.Equal(rt, len(events), saved, "a blob for each clip, and no other")
		require.Len(rt, a.files(), len(a.blobs()), "nothing is left of what was being written")
	})
}

func TestAReplyThatIsGivenUpBeforeItsFirstByteLeavesNothing(t *testing.T) {
	a := newArchive(t)
	account := a.open("indie")
	ctx, cancel := context.WithCancel(t.Context())
	reply := a.begin(ctx, keep(account, story, audio.WAV))
	cancel()
	a.requireIdle(account)
	require.Error(t, reply.Write(ctx, io.Discard))
	require.Empty(t, a.files())
}

func TestWhoGoesWhenAllIsHandedOverHasSavedIt(t *testing.T) {
	a := newArchive(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply := a.begin(ctx, keep(a.open("indie"), "Hello.", audio.WAV))
	release := a.world.log.hold() // the settlement waits
	ended := make(chan error, 1)
	go func() { ended <- reply.Write(ctx, io.Discard) }()
	<-a.world.log.held
	cancel()
	release()
	<-ended
	require.Equal(t, "leah", a.saved(reply.Clip()).Voice)
}

// The trouble of a store costs the clip, never the audio that was paid for.
func TestAClipThatCannotBeKeptCostsNoReply(t *testing.T) {
	for name, breaks := range map[string]func(t *testing.T, a *archive, account string){
		"no disk": func(t *testing.T, a *archive, _ string) { require.NoError(t, os.RemoveAll(a.dir)) },
		"no keyring": func(t *testing.T, a *archive, _ string) {
			_, err := a.pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
			require.NoError(t, err)
		},
		"an erased account": func(t *testing.T, a *archive, account string) { require.NoError(t, a.keys.Erase(t.Context(), account)) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			account := a.open("indie")
			breaks(t, a, account)
			for range 2 {
				reply := a.begin(t.Context(), keep(account, story, audio.WAV))
				var got bytes.Buffer
				require.NoError(t, reply.Write(t.Context(), &got))
				require.Greater(t, got.Len(), 100_000)
				require.Empty(t, fold[clip.Event](a.world, clip.Stream(reply.Clip())))
				require.Equal(t, []string{"usage"}, a.models.names)
			}
			recording, err := a.begin(t.Context(), keep(account, story, audio.WAV)).Whole(t.Context())
			require.NoError(t, err)
			require.Positive(t, recording.Audio.Size())
			require.EqualValues(t, 3*utf8.RuneCountInString(story), a.books(account).Settled)
			require.Contains(t, a.log.String(), "a clip was not saved")
			require.NotContains(t, a.log.String(), "Once upon")
			if name != "no disk" {
				require.Empty(t, a.files())
			}
		})
	}
}

func TestDeletingAClip(t *testing.T) {
	a := newArchive(t)
	account, other := a.open("indie"), a.open("indie")
	id, _ := a.save(account, "Hello.")
	kept, _ := a.save(account, "Hello again.")
	for name, c := range map[string][2]string{
		"another account's": {id, other}, "unknown": {strings.Repeat("0", 32), account}, "empty": {"", account},
		"a path": {"../" + id, account}, "a stream": {"clip-" + id, account}, "another stream": {"x\n" + id, account},
	} {
		_, err := a.clips.Delete(t.Context(), c[0], c[1], operator)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), name)
	}
	require.Len(t, a.blobs(), 2)

	position, err := a.clips.Delete(t.Context(), id, account, operator)
	require.NoError(t, err)
	require.Equal(t, a.lastOf(clip.Stream(id)), position)
	require.Equal(t, []blobs.Address{blobs.Address(a.saved(kept).Blob)}, a.blobs())
	_, err = a.clips.Delete(t.Context(), id, account, operator)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestAClipIsDeletedOnceByManyAtOnce(t *testing.T) {
	a := newArchive(t)
	account := a.open("indie")
	id, _ := a.save(account, "Hello.")
	outcomes := make(chan error, 8)
	for range cap(outcomes) {
		go func() {
			_, err := a.clips.Delete(t.Context(), id, account, operator)
			outcomes <- err
		}()
	}
	deleted := 0
	for range cap(outcomes) {
		if err := <-outcomes; err == nil {
			deleted++
		} else {
			require.Equal(t, domain.NotFound, domain.CodeOf(err))
		}
	}
	require.Equal(t, 1, deleted)
	require.Len(t, fold[clip.Event](a.world, clip.Stream(id)), 2)
}

// shown is a read model that shows these blobs.
func shown(addresses ...blobs.Address) commands.ShownBlobs {
	return func(_ context.Context, _ []blobs.Address) (map[blobs.Address]bool, error) {
		known := map[blobs.Address]bool{}
		for _, address := range addresses {
			known[address] = true
		}
		return known, nil
	}
}

func TestTheSweepRemovesWhatNoClipRefersTo(t *testing.T) {
	a := newArchive(t)
	account := a.open("indie")
	put := func(owner, content string) blobs.Address {
		t.Helper()
		blob, err := a.store.Put(t.Context(), blobs.Owner(owner), strings.NewReader(content))
		require.NoError(t, err)
		return blob.Address
	}
	// given a clip, another one that the read model does not show yet, and one that is deleted but whose audio stayed
	id, _ := a.save(account, "Hello.")
	unseen, _ := a.save(account, "Hello again.")
	gone, sound := a.save(account, "Goodbye.")
	_, err := a.clips.Delete(t.Context(), gone, account, operator)
	require.NoError(t, err)
	left := put(clip.Stream(gone), sound)
	// and audio whose clip a crash kept from being saved, audio of a clip that is another one's, and what is no clip's at all
	orphan := put(clip.Stream(strings.Repeat("1", 32)), "orphan")
	other := put(clip.Stream(id), "not what the event says")
	voice := put("voice-0123456789", "a voice")
	good, hidden := blobs.Address(a.saved(id).Blob), blobs.Address(a.saved(unseen).Blob)

	// when it is swept while a reply could still be on its way, then all stays
	removed, err := a.clips.Sweep(t.Context(), shown(good))
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Len(t, a.blobs(), 6)

	// when it is swept later, then what no event refers to is gone, and nothing else
	a.late = 2 * time.Hour
	removed, err = a.clips.Sweep(t.Context(), shown(good))
	require.NoError(t, err)
	require.Equal(t, 3, removed)
	require.ElementsMatch(t, []blobs.Address{good, hidden, voice}, a.blobs())
	require.NotContains(t, a.blobs(), left)
	require.NotContains(t, a.blobs(), orphan)
	require.NotContains(t, a.blobs(), other)

	// and a read model that shows nothing, because it is being built again, costs no clip
	removed, err = a.clips.Sweep(t.Context(), shown())
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Len(t, a.blobs(), 3)
}

func TestASweepThatCannotAskRemovesNothing(t *testing.T) {
	a := newArchive(t)
	_, err := a.store.Put(t.Context(), blobs.Owner(clip.Stream(strings.Repeat("1", 32))), strings.NewReader("orphan"))
	require.NoError(t, err)
	a.late = 2 * time.Hour
	away := errors.New("the read models do not answer")
	_, err = a.clips.Sweep(t.Context(), func(context.Context, []blobs.Address) (map[blobs.Address]bool, error) { return nil, away })
	require.ErrorIs(t, err, away)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.clips.Sweep(ctx, shown())
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, a.blobs(), 1)
}
