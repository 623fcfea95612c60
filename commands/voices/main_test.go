package voices_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio/decode"
	"github.com/recital-tts/recital/internal/speech/cloning"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// speechworker is the real binary, built once by TestMain.
var speechworker bintest.Program

func TestMain(m *testing.M) { workertest.Main(m, &speechworker, nil) }

var origin = journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a"}}

// stretch is the length of audio that is analysed in one step. Training needs at least two.
const stretch = 250 * time.Millisecond

// studio makes voices on a real log, in a real folder, with a real keyring and real decoders. Only the cloner is a
// stand-in, which is fast and records its input.
type studio struct {
	*commandstest.World
	*voices.Voices // of an instance without faults
	keys           *memkeys.Keyring
	store          *folder.Store
	decoder        *decode.Pool
	cloner         *cloner
	limits         voices.Limits

	gone map[string]bool // voices that are completely erased

	mu   sync.Mutex
	late time.Duration // by which the clock of the voices is ahead
}

func newStudio(t testing.TB) *studio {
	t.Helper()
	s := &studio{World: commandstest.New(t), cloner: &cloner{}, gone: map[string]bool{}}
	s.keys = memkeys.New()
	var err error
	s.store, err = folder.Open(folder.Config{Dir: t.TempDir(), Instance: "test", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.decoder = decode.NewPool(decode.Config{Command: workertest.Mode(speechworker, "decode")})
	s.limits = voices.Limits{Wait: time.Nanosecond, Training: 2 * stretch, Stretch: stretch,
		Longest: 4 * time.Second, Upload: 1 << 20}
	s.Voices = s.instance(s.Log, s.store, s.limits)
	return s
}

// instance returns an instance on a log and a store.
func (s *studio) instance(log eventlog.Log, store blobs.Store, limits voices.Limits) *voices.Voices {
	s.T.Helper()
	v, err := voices.New(voices.Config{
		Journal: &journal.Journal{Log: log, Registry: s.Journal.Registry}, Keys: s.keys, Blobs: store, Decoder: s.decoder,
		Cloner:   s.cloner,
		Previews: previews{}, Folder: s.T.TempDir(), Limits: limits, Now: s.now, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(s.T, err)
	s.T.Cleanup(func() { require.NoError(s.T, v.Close()) })
	return v
}

func (s *studio) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.late)
}

func (s *studio) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late += d
}

// cloner makes voices that contain a summary of their recordings. Any sound that is not silence is speech.
type cloner struct {
	mu       sync.Mutex
	analysed int           // recordings and stretches
	panics   bool          // at the next analysis
	hold     chan struct{} // if not nil, analyses wait until it is closed
	began    chan struct{} // gets an element when an analysis begins to wait
}

var _ cloning.Cloner = (*cloner)(nil)

func (c *cloner) Engine() string { return "sample/1" }

func (c *cloner) Analyse(ctx context.Context, r cloning.Recording, o cloning.Options) (cloning.Analysis, error) {
	c.mu.Lock()
	c.analysed++
	hold, panics := c.hold, c.panics
	c.panics = false
	c.mu.Unlock()
	if panics {
		panic("of a cloner")
	}
	if hold != nil {
		c.began <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
			return cloning.Analysis{}, ctx.Err()
		}
	}
	pcm, err := io.ReadAll(r.PCM)
	if err != nil {
		return cloning.Analysis{}, err
	}
	seconds := float64(len(pcm)/2) / float64(r.Rate)
	report := cloning.Report{Seconds: seconds, SpeechSeconds: seconds}
	if bytes.Count(pcm, []byte{0}) == len(pcm) {
		report.SpeechSeconds = 0
	}
	sum := sha256.Sum256(pcm)
	return cloning.Analysis{Report: report, Data: sum[:]}, nil
}

func (c *cloner) Fit(
	_ context.Context, analyses []cloning.Analysis, _ cloning.Profile, _ func(int, int),
) (cloning.Model, error) {
	var all []byte
	speech := 0.0
	for _, a := range analyses {
		all, speech = append(all, a.Data...), speech+a.Report.SpeechSeconds
	}
	if speech == 0 {
		return cloning.Model{}, &cloning.UnusableError{Reason: "There is no speech in the recordings"}
	}
	return cloning.Model{Engine: c.Engine(), Data: all}, nil
}

func (c *cloner) Open(m cloning.Model) (speech.Voice, error) {
	if m.Engine != c.Engine() || len(m.Data)%sha256.Size != 0 {
		return speech.Voice{}, errors.New("no model of this engine")
	}
	return speech.Voice{Variant: "f2", Description: hex.EncodeToString(m.Data)}, nil
}

func (c *cloner) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.analysed
}

// wait makes analyses wait until release is called.
func (c *cloner) wait() (release func()) {
	hold := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold, c.began = hold, make(chan struct{}, 64)
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hold = nil
		close(hold)
	})
}

type previews struct{}

func (previews) Render(_ context.Context, v speech.Voice) ([]byte, error) {
	return []byte("preview of " + v.ID), nil
}

// sound returns a wav file of a tone, or of silence (0 Hz).
func sound(length time.Duration, hertz float64) voices.File {
	const rate = 8000
	pcm := make([]byte, 2*int(length.Seconds()*rate))
	for i := range len(pcm) / 2 {
		sample := 8000 * math.Sin(2*math.Pi*hertz*float64(i)/rate)
		binary.LittleEndian.PutUint16(pcm[2*i:], uint16(int16(sample)))
	}
	header := []byte("RIFF")
	header = binary.LittleEndian.AppendUint32(header, uint32(36+len(pcm)))
	header = append(header, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	header = binary.LittleEndian.AppendUint32(header, rate)
	header = binary.LittleEndian.AppendUint32(header, 2*rate)
	header = append(header, "\x02\x00\x10\x00data"...)
	return file(append(binary.LittleEndian.AppendUint32(header, uint32(len(pcm))), pcm...))
}

func file(content []byte) voices.File {
	sum := sha256.Sum256(content)
	return voices.File{Upload: bytes.NewReader(content), SHA256: hex.EncodeToString(sum[:])}
}

// wish returns a request for a voice.
func wish(account string, of voice.Type, files ...voices.File) voices.Creation {
	return voices.Creation{Account: account, Plan: plan.Pro, Type: of,
		Profile: voice.Profile{Name: "Mine", Tags: []string{"warm"}}, Files: files}
}

// create creates a voice and returns its id.
func (s *studio) create(c voices.Creation) string {
	s.T.Helper()
	made, err := s.Create(s.T.Context(), c, origin)
	require.NoError(s.T, err)
	return made.ID
}

// ready creates a voice and waits until it is ready.
func (s *studio) ready(account string) string {
	s.T.Helper()
	id := s.create(wish(account, voice.Instant, sound(300*time.Millisecond, 440)))
	s.settle(s.T, s.Voices)
	require.Equal(s.T, voice.Speaking, s.state(id).Phase)
	return id
}

func (s *studio) events(id string) []voice.Event {
	return commandstest.Fold[voice.Event](s.World, voice.Stream(id))
}

func (s *studio) state(id string) (state voice.State) {
	for _, event := range s.events(id) {
		state = voice.Evolve(state, event)
	}
	return state
}

func (s *studio) roster(account string) (state roster.State) {
	for _, event := range commandstest.Fold[roster.Event](s.World, roster.Stream(account)) {
		state = roster.Evolve(state, event)
	}
	return state
}

func (s *studio) stars(account string) (state star.State) {
	for _, event := range commandstest.Fold[star.Event](s.World, star.Stream(account)) {
		state = star.Evolve(state, event)
	}
	return state
}

// stored returns the addresses of all blobs of a voice, or of all voices.
func (s *studio) stored(prefix string) (addresses []string) {
	s.T.Helper()
	for blob, err := range s.store.List(s.T.Context(), prefix) {
		require.NoError(s.T, err)
		addresses = append(addresses, string(blob.Address))
	}
	slices.Sort(addresses)
	return addresses
}

// ids returns the voices with streams or places, except the erased ones.
func (s *studio) ids() (ids []string) {
	seen := map[string]bool{}
	for _, stream := range s.Log.Written(voice.StreamPrefix) {
		seen[stream[len(voice.StreamPrefix):]] = true
	}
	for _, stream := range s.Log.Written(roster.StreamPrefix) {
		for _, place := range s.roster(stream[len(roster.StreamPrefix):]).Places {
			seen[place.Voice] = true
		}
	}
	for id := range seen {
		if !s.gone[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// settle executes the to-dos until none is due.
func (s *studio) settle(t require.TestingT, by *voices.Voices) {
	for _, stream := range s.Log.Written(roster.StreamPrefix) {
		account := stream[len(roster.StreamPrefix):]
		for _, place := range s.roster(account).Places {
			if s.state(place.Voice).Phase == "" {
				s.Must(by.SettlePlace(s.T.Context(), account, place.Voice, uuid.New()))
			}
		}
	}
	for _, id := range s.ids() {
		for process := s.due(id); process != nil; process = s.due(id) {
			s.carryOut(t, by, id, process)
		}
	}
}

type process = func(v *voices.Voices, ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error)

// due returns the next to-do of a voice.
func (s *studio) due(id string) process {
	state := s.state(id)
	switch {
	case state.Deleted && !state.Erased:
		return (*voices.Voices).Erase
	case !state.Exists():
		return nil
	case state.Phase == voice.Preparing:
		return (*voices.Voices).Prepare
	case state.Unfinished():
		return (*voices.Voices).Train
	case state.NeedsPreview():
		return (*voices.Voices).RenderPreview
	}
	return nil
}

func (s *studio) carryOut(t require.TestingT, by *voices.Voices, id string, do process) {
	require.NoError(t, s.attempt(by, id, do))
}

// attempt executes a to-do of a voice to its end.
func (s *studio) attempt(by *voices.Voices, id string, do process) error {
	for {
		_, err := do(by, s.T.Context(), id, uuid.New())
		if !errors.As(err, new(*todo.NotYetError)) {
			return err
		}
	}
}

// requireOrder requires that every voice is in a stable state, that places and stars belong to existing voices, and
// that exactly the blobs that these need are stored.
func (s *studio) requireOrder(t require.TestingT) {
	s.pass(2 * time.Hour)
	s.Must(s.Sweep(s.T.Context()))
	places, needed := map[string]bool{}, []string{}
	for _, id := range s.ids() {
		state := s.state(id)
		switch {
		case state.Abandoned:
			require.Zero(t, state.Phase)
		case state.Deleted:
			require.True(t, state.Erased)
		default:
			require.Contains(t, []voice.Phase{voice.Speaking, voice.Unusable}, state.Phase)
			require.False(t, state.NeedsPreview())
			places[id] = true
			for _, blob := range s.stored(voice.Stream(id) + ".") {
				require.True(t, state.Needs(blob))
			}
			for _, r := range state.Recordings {
				needed = append(needed, r.Blob)
			}
			for _, a := range state.Analyses {
				needed = append(needed, a.Blob)
			}
			if state.Phase == voice.Speaking {
				needed = append(needed, state.Model.Blob, state.Preview.Blob)
			}
		}
	}
	slices.Sort(needed)
	require.Equal(t, needed, append([]string{}, s.stored(voice.StreamPrefix)...))
	taken := map[string]bool{}
	for _, stream := range s.Log.Written(roster.StreamPrefix) {
		for _, place := range s.roster(stream[len(roster.StreamPrefix):]).Places {
			taken[place.Voice] = true
		}
	}
	require.Equal(t, places, taken)
	for _, id := range s.ids() {
		s.gone[id] = !places[id]
	}
	for _, stream := range s.Log.Written(star.StreamPrefix) {
		for _, id := range s.stars(stream[len(star.StreamPrefix):]).Voices {
			_, system := speech.LookupVoice(id)
			require.True(t, system || places[id])
		}
	}
}

// mortal returns an instance that crashes by a fuse.
func (s *studio) mortal(f *commandstest.Fuse) *voices.Voices {
	return s.instance(commandstest.MortalLog{Log: s.Log, Fuse: f}, mortalStore{s.store, f}, s.limits)
}

type mortalStore struct {
	blobs.Store
	fuse *commandstest.Fuse
}

func (st mortalStore) Put(
	ctx context.Context, address blobs.Address, r io.Reader, size int64,
) (blob blobs.Blob, err error) {
	err = st.fuse.Burn(ctx, func(ctx context.Context) error {
		blob, err = st.Store.Put(ctx, address, r, size)
		return err
	})
	return blob, err
}

func (st mortalStore) Delete(ctx context.Context, address blobs.Address) error {
	return st.fuse.Burn(ctx, func(ctx context.Context) error { return st.Store.Delete(ctx, address) })
}

func noise(bytes int) []byte {
	content := make([]byte, bytes)
	_, _ = rand.Read(content)
	return content
}
