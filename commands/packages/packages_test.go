package packages_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/packages"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// engines are the engines of an instance, which run any voice unless broken is set.
type engines struct {
	running map[string]string // folders by the voice's id
	broken  error
}

func (e *engines) Open(v voicepack.Voice) error {
	if e.broken != nil {
		return e.broken
	}
	if _, err := os.Stat(filepath.Join(v.Folder, voicepack.ModelFile)); err != nil {
		return err
	}
	e.running[v.ID] = v.Folder
	return nil
}

func (e *engines) Close(id string) error { delete(e.running, id); return nil }

func (e *engines) Running() map[string]int {
	streams := map[string]int{}
	for id := range e.running {
		streams[id] = 7
	}
	return streams
}

func (e *engines) Measure(_ context.Context, v voicepack.Voice) (voicepack.Measured, error) {
	return voicepack.Measured{Gain: -3, Cost: 0.1, Sound: []byte("{}")}, e.broken
}

// instance is one of several instances on a log and a blob store.
type instance struct {
	*packages.Packages
	engines   *engines
	catalogue *speech.Catalogue
	folder    string
	clock     *commandstest.Clock
}

func instances(t *testing.T, count int) (store blobs.Store, all []instance) {
	t.Helper()
	w := commandstest.New(t)
	kept, err := folder.Open(folder.Config{Dir: t.TempDir(), Instance: "test", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for range count {
		i := instance{engines: &engines{running: map[string]string{}}, catalogue: &speech.Catalogue{},
			folder: filepath.Join(t.TempDir(), "voices"), clock: w.Clock}
		i.Packages = packages.New(packages.Config{Journal: w.Journal, Blobs: kept, Engines: i.engines,
			Catalogue: i.catalogue, Folder: i.folder, Now: w.Clock.Now, Logger: slog.New(slog.DiscardHandler)})
		all = append(all, i)
	}
	return kept, all
}

// archive returns the archive of a package with an id, and its hash.
func archive(t *testing.T, id string) (content []byte, sha256 string) {
	t.Helper()
	return archiveOf(t, neuraltest.Package(t, id))
}

func archiveOf(t *testing.T, folder string) (content []byte, sha256 string) {
	t.Helper()
	from := os.DirFS(folder)
	p, err := voicepack.Open(from)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, voicepack.Write(&out, from))
	return out.Bytes(), p.SHA256
}

func (i instance) install(t *testing.T, id string) (packages.Voice, error) {
	t.Helper()
	content, sum := archive(t, id)
	return i.Install(t.Context(), bytes.NewReader(content), sum, commandstest.Operator())
}

// requireNothing fails if any blob or folder of packages is left.
func requireNothing(t *testing.T, store blobs.Store, i instance) {
	t.Helper()
	for blob, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		t.Errorf("the blob %s is left", blob.Address)
	}
	entries, err := os.ReadDir(i.folder)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	require.Empty(t, entries)
	require.Empty(t, i.engines.running)
}

func TestWhatIsInstalledRunsOnEveryInstance(t *testing.T) {
	store, all := instances(t, 2)
	one, other := all[0], all[1]
	installed, err := one.install(t, "toy")
	require.NoError(t, err)
	require.True(t, installed.Running)
	require.Equal(t, 7, installed.Streams)
	require.Equal(t, -3.0, installed.Gain)
	v, found := one.catalogue.Lookup("toy")
	require.True(t, found)
	require.Equal(t, "Toy (made by tests)", v.Description, "the attribution is in the list of voices")
	require.Equal(t, []string{"en-us"}, v.Installed.Languages)
	require.Equal(t, &speech.Base{Package: installed.SHA256, Sound: []byte("{}")}, v.Installed.Base)

	_, found = other.catalogue.Lookup("toy")
	require.False(t, found)
	require.NoError(t, other.Follow(t.Context()))
	_, found = other.catalogue.Lookup("toy")
	require.True(t, found)
	require.Contains(t, other.engines.Running(), "toy")

	// installing it again has no effect
	_, err = other.install(t, "toy")
	require.NoError(t, err)
	list, err := one.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = other.Test(t.Context(), "toy")
	require.NoError(t, err)
	_, err = other.Test(t.Context(), "joe")
	require.Equal(t, domain.NotFound, domain.CodeOf(err))

	// it speaks for a system voice everywhere
	require.NoError(t, one.Assign(t.Context(), "leah", "toy", commandstest.Operator()))
	require.NoError(t, other.Follow(t.Context()))
	for _, i := range all {
		leah, err := i.catalogue.Find("leah")
		require.NoError(t, err)
		require.Equal(t, "toy", leah.Installed.ID)
		require.Equal(t, "Leah", leah.Name)
		require.Contains(t, leah.Description, "Toy (made by tests)", "and its licence is kept")
		require.Len(t, i.catalogue.Voices(), len(speech.Voices())+1)
	}
	list, err = other.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"leah"}, list[0].SpeaksFor)
	require.Equal(t, domain.NotFound, domain.CodeOf(one.Assign(t.Context(), "toy", "toy", commandstest.Operator())))

	// and it is removed everywhere
	require.NoError(t, other.Remove(t.Context(), "toy", commandstest.Operator()))
	require.NoError(t, one.Follow(t.Context()))
	for _, i := range all {
		requireNothing(t, store, i)
		require.Equal(t, len(speech.Voices()), len(i.catalogue.Voices()))
	}
	require.Equal(t, domain.NotFound, domain.CodeOf(one.Remove(t.Context(), "toy", commandstest.Operator())))
}

func TestWhatIsNoVoiceLeavesNothing(t *testing.T) {
	store, all := instances(t, 1)
	one := all[0]
	content, sum := archive(t, "toy")
	for name, hostile := range map[string][]byte{"nothing": nil, "cut off": content[:len(content)-2000]} {
		_, err := one.Install(t.Context(), bytes.NewReader(hostile), sum, commandstest.Operator())
		require.Equal(t, domain.Rejected, domain.CodeOf(err), name)
		requireNothing(t, store, one)
	}
	_, err := one.install(t, "ac4a8f2b3e1d7c40")
	require.Equal(t, domain.Rejected, domain.CodeOf(err), "the id of an account's voice")
	one.engines.broken = errors.New("the model has another opset")
	_, err = one.install(t, "toy")
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	require.ErrorContains(t, err, "opset")
	requireNothing(t, store, one)
}

// A voice that cannot run stays in the catalogue, and other voices speak in its place until it can.
func TestAVoiceThatCannotRunHereIsTriedAgain(t *testing.T) {
	_, all := instances(t, 2)
	_, err := all[0].install(t, "toy")
	require.NoError(t, err)
	one := all[1]
	one.engines.broken = errors.New("there is no runtime")
	require.NoError(t, one.Follow(t.Context()))
	require.True(t, slices.Contains(one.catalogue.IDs(), "toy"))
	require.Empty(t, one.engines.running)
	one.engines.broken = nil
	require.NoError(t, one.Follow(t.Context()))
	require.Empty(t, one.engines.running, "but not all the time")
	one.clock.Advance(time.Minute)
	require.NoError(t, one.Follow(t.Context()))
	require.Len(t, one.engines.running, 1)
}

func TestAnotherPackageOfAVoiceTakesThePlaceOfTheFirst(t *testing.T) {
	store, all := instances(t, 1)
	one := all[0]
	first, err := one.install(t, "toy")
	require.NoError(t, err)
	from := neuraltest.Package(t, "toy")
	neuraltest.Describe(t, from, "toy", "Toy II")
	content, sum := archiveOf(t, from)
	second, err := one.Install(t.Context(), bytes.NewReader(content), sum, commandstest.Operator())
	require.NoError(t, err)
	require.NotEqual(t, first.Blob, second.Blob)
	var addresses []string
	for blob, err := range store.List(t.Context(), "") {
		require.NoError(t, err)
		addresses = append(addresses, string(blob.Address))
	}
	require.Equal(t, []string{second.Blob}, addresses)
	for blob, wanted := range map[string]bool{first.Blob: false, second.Blob: true} { // by a restored service
		needed, err := packages.Needed(t.Context(), one.Journal, blobs.Address(blob))
		require.NoError(t, err)
		require.Equal(t, wanted, needed)
	}
	v, _ := one.catalogue.Lookup("toy")
	require.Equal(t, "Toy II", v.Name)
	require.Equal(t, filepath.Join(one.folder, sum), one.engines.running["toy"])
}

// Files that a crash has damaged are restored from the blob store.
func TestDamagedFilesOfAVoiceAreReplaced(t *testing.T) {
	_, all := instances(t, 2)
	installed, err := all[0].install(t, "toy")
	require.NoError(t, err)
	one := all[1]
	damaged := filepath.Join(one.folder, installed.SHA256)
	require.NoError(t, os.MkdirAll(damaged, 0o700))
	require.NoError(t, one.Follow(t.Context()))
	require.Empty(t, one.engines.running)
	one.clock.Advance(time.Minute)
	require.NoError(t, one.Follow(t.Context()))
	require.Contains(t, one.engines.running, "toy")
}

// Only the voice with a missing blob does not run.
func TestAMissingBlobCostsItsVoiceAlone(t *testing.T) {
	store, all := instances(t, 2)
	lost, err := all[0].install(t, "lost")
	require.NoError(t, err)
	_, err = all[0].install(t, "toy")
	require.NoError(t, err)
	require.NoError(t, store.Delete(t.Context(), blobs.Address(lost.Blob)))
	require.NoError(t, all[1].Follow(t.Context()))
	require.NotContains(t, all[1].engines.running, "lost")
	require.Contains(t, all[1].engines.running, "toy")
	require.Subset(t, all[1].catalogue.IDs(), []string{"lost", "toy"})
}
