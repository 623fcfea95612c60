// Package packages installs and removes voices of neural networks, and makes each instance run the installed ones. A
// package is stored as a blob by its hash, and unpacked in the data folder of each instance.
package packages

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/domain/voicepackage"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// Engines run the voices of an instance.
type Engines interface {
	Open(v voicepack.Voice) error
	Close(id string) error
	Running() map[string]int // number of concurrent streams that they sustain, by id
	Measure(ctx context.Context, v voicepack.Voice) (voicepack.Measured, error)
}

// Config configures Packages.
type Config struct {
	Journal   *journal.Journal
	Blobs     blobs.Store
	Engines   Engines
	Catalogue *speech.Catalogue // updated with the installed voices
	Folder    string            // of the unpacked packages; created if missing, and used by this process alone
	Now       func() time.Time
	Logger    *slog.Logger
}

// Packages are the installed voices.
type Packages struct {
	Config

	mu     sync.Mutex // serialises Install, Follow and other changes
	stream *journal.Cached[voicepackage.State, voicepackage.Event]
	failed map[string]failure // by the hash of the package
	known  atomic.Bool        // the list of installed voices was read
}

// Known reports whether this instance has read the list of installed voices.
func (p *Packages) Known() bool { return p.known.Load() }

// failure is the number of failed starts of a voice here, and the time of the next attempt.
type failure struct {
	times int
	next  time.Time
}

type command = journal.Decider[voicepackage.State, voicepackage.Event]

func stream() journal.Stream[voicepackage.State, voicepackage.Event] {
	return journal.Stream[voicepackage.State, voicepackage.Event]{Name: voicepackage.Stream, Evolve: voicepackage.Evolve}
}

// New returns a Packages.
func New(config Config) *Packages {
	return &Packages{Config: config, stream: journal.NewCached(config.Journal, stream()), failed: map[string]failure{}}
}

// Voice is an installed voice.
type Voice struct {
	voicepackage.Installed
	Streams   int      // number of concurrent streams that this instance sustains
	Running   bool     // on this instance
	SpeaksFor []string // system voices
}

// List returns the installed voices.
func (p *Packages) List(ctx context.Context) ([]Voice, error) {
	state, _, err := journal.Load(ctx, p.Journal, stream())
	if err != nil {
		return nil, err
	}
	var all []Voice
	for _, installed := range state.Packages {
		all = append(all, p.shown(state, installed))
	}
	return all, nil
}

func (p *Packages) shown(state voicepackage.State, installed voicepackage.Installed) Voice {
	streams, running := p.Engines.Running()[installed.Voice]
	v := Voice{Installed: installed, Streams: streams, Running: running}
	for _, system := range slices.Sorted(maps.Keys(state.Assigned)) {
		if state.Assigned[system] == installed.Voice {
			v.SpeaksFor = append(v.SpeaksFor, system)
		}
	}
	return v
}

// Install installs the package of an archive, after its voice has spoken here. The SHA-256 is of its manifest. Errors:
// domain.Rejected for an archive that is not a valid voice.
func (p *Packages) Install(
	ctx context.Context, archive io.Reader, sha256 string, origin journal.Origin,
) (Voice, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.stream.Refresh(ctx); err != nil {
		return Voice{}, err
	}
	folder, err := p.unpack(archive, sha256)
	if err != nil {
		return Voice{}, rejected(err)
	}
	defer os.RemoveAll(folder)
	install, err := p.measured(ctx, folder)
	if err != nil {
		return Voice{}, rejected(err)
	}
	if install.Size, err = p.store(ctx, blobs.Address(install.Blob), os.DirFS(folder)); err != nil {
		return Voice{}, err
	}
	if err := p.change(ctx, install, install.At, origin); err != nil {
		return Voice{}, err
	}
	state := p.stream.State()
	return p.shown(state, state.Packages[state.Index(install.Voice)]), nil
}

// change executes a command, and makes this instance follow it.
func (p *Packages) change(ctx context.Context, c command, at time.Time, origin journal.Origin) error {
	before := p.stream.State()
	after, _, err := p.stream.Execute(ctx, c, origin.Metadata(uuid.New(), at))
	if err != nil {
		return err
	}
	p.deleteBlobs(ctx, before, after)
	return p.follow(ctx)
}

// deleteBlobs deletes the blobs of packages that are no longer installed. It leaves a blob that cannot be deleted.
func (p *Packages) deleteBlobs(ctx context.Context, before, after voicepackage.State) {
	for _, old := range before.Packages {
		if after.Has(old.SHA256) {
			continue
		}
		if err := p.Blobs.Delete(ctx, blobs.Address(old.Blob)); err != nil {
			p.Logger.WarnContext(ctx, "the blob of a voice that is no longer installed is left", "blob", old.Blob,
				"error", err)
		}
	}
}

// rejected returns a refusal for an invalid package, and nil for nil.
func rejected(err error) error {
	var refusal *domain.Error
	if err == nil || errors.As(err, &refusal) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", domain.Refuse(domain.Rejected, "The voice cannot be installed: "+firstLine(err)), err)
}

// firstLine returns the displayable part of an error: the rest may quote a model.
func firstLine(err error) string {
	const longest = 300
	line, _, _ := strings.Cut(err.Error(), "\n")
	shown := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, line))
	return strings.TrimRight(string(shown[:min(len(shown), longest)]), ". ")
}

// unpack unpacks an archive into a new folder.
func (p *Packages) unpack(archive io.Reader, sha256 string) (folder string, err error) {
	if err := os.MkdirAll(p.Folder, 0o700); err != nil {
		return "", fmt.Errorf("making the folder of voices: %w", err)
	}
	folder = filepath.Join(p.Folder, "new-"+strings.ToLower(rand.Text()))
	_, err = voicepack.Unpack(archive, folder, sha256)
	return folder, err
}

// measured returns the command that installs the package of a folder, after its voice has spoken.
func (p *Packages) measured(ctx context.Context, folder string) (voicepackage.Install, error) {
	pack, err := voicepack.Open(os.DirFS(folder))
	if err != nil {
		return voicepackage.Install{}, err
	}
	if voice.ValidID(pack.ID) {
		return voicepackage.Install{}, errors.New("its id looks like that of an account's voice")
	}
	install := voicepackage.Install{
		Voice: pack.ID, SHA256: pack.SHA256, Blob: string(addressOf(pack.SHA256)), Name: pack.Name, Gender: pack.Gender,
		Description: pack.Description, Languages: pack.Languages, Licence: pack.Licence, Attribution: pack.Attribution,
		Commercial: pack.Commercial, Base: pack.Base, Source: pack.Source, OwnName: pack.OwnName, At: p.Now().UTC(),
	}
	if _, err := install.Decide(p.stream.State()); err != nil { // before any of it is stored
		return voicepackage.Install{}, err
	}
	measured, err := p.Engines.Measure(ctx, voicepack.Voice{ID: pack.ID, Languages: pack.Languages, Folder: folder})
	install.Gain, install.Cost, install.Sound = measured.Gain, measured.Cost, string(measured.Sound)
	return install, err
}

// addressOf returns the address of a package's blob, which has its hash, so that storing it again replaces it.
func addressOf(sha256 string) blobs.Address {
	return blobs.Address(blobs.Owner(voicepack.BlobPrefix+sha256[:32]).Prefix() + sha256)
}

// store stores the archive of a folder.
func (p *Packages) store(ctx context.Context, address blobs.Address, folder fs.FS) (int64, error) {
	size, err := voicepack.Size(folder)
	if err != nil {
		return 0, err
	}
	out, in := io.Pipe()
	defer out.Close()
	go func() { in.CloseWithError(voicepack.Write(in, folder)) }()
	if _, err := p.Blobs.Put(ctx, address, out, size); err != nil {
		return 0, fmt.Errorf("storing a package: %w", err)
	}
	return size, nil
}

// Remove removes a voice, and ends its speech on this instance. Errors: domain.NotFound.
func (p *Packages) Remove(ctx context.Context, id string, origin journal.Origin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.Now().UTC()
	return p.change(ctx, voicepackage.Remove{Voice: id, At: at}, at, origin)
}

// Assign makes an installed voice speak for a system voice, on every instance. Without a voice, the system voice speaks
// for itself again. Errors: domain.NotFound, and domain.Rejected for a voice that its licence or this machine forbids.
func (p *Packages) Assign(ctx context.Context, system, voice string, origin journal.Origin) error {
	if _, found := speech.LookupVoice(system); !found {
		return domain.Refuse(domain.NotFound, "There is no such system voice")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.Now().UTC()
	assign := voicepackage.Assign{System: system, Voice: voice, Streams: p.Engines.Running()[voice], At: at}
	return p.change(ctx, assign, at, origin)
}

// Needed reports whether a blob belongs to an installed voice.
func Needed(ctx context.Context, j *journal.Journal, address blobs.Address) (bool, error) {
	state, _, err := journal.Load(ctx, j, stream())
	return slices.ContainsFunc(state.Packages, func(i voicepackage.Installed) bool {
		return i.Blob == string(address)
	}), err
}

// Test makes an installed voice speak, and measures it again.
func (p *Packages) Test(ctx context.Context, id string) (voicepack.Measured, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.stream.Refresh(ctx); err != nil {
		return voicepack.Measured{}, err
	}
	state := p.stream.State()
	i := state.Index(id)
	if i < 0 {
		return voicepack.Measured{}, voicepackage.ErrNotFound
	}
	v, err := p.local(ctx, state.Packages[i])
	if err != nil {
		return voicepack.Measured{}, err
	}
	measured, err := p.Engines.Measure(ctx, v)
	return measured, rejected(err)
}

// Follow makes this instance run the installed voices. A voice that cannot run here is logged once, and retried at
// growing intervals.
func (p *Packages) Follow(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.follow(ctx)
}

func (p *Packages) follow(ctx context.Context) error {
	if err := p.stream.Refresh(ctx); err != nil {
		return fmt.Errorf("reading the installed voices: %w", err)
	}
	state := p.stream.State()
	p.Catalogue.Install(voicesOf(state)) // before they run, which may take long
	p.known.Store(true)
	for _, installed := range state.Packages {
		p.run(ctx, installed)
	}
	maps.DeleteFunc(p.failed, func(sha256 string, _ failure) bool { return !state.Has(sha256) })
	for id := range p.Engines.Running() {
		if state.Index(id) < 0 {
			if err := p.Engines.Close(id); err != nil {
				return fmt.Errorf("ending a removed voice: %w", err)
			}
		}
	}
	return p.sweep(state)
}

// Voices that cannot run here are retried after firstRetry, then after twice as long each time.
const (
	firstRetry  = 4 * time.Second
	lastRetries = 6 // doublings
)

// run starts a voice here, unless a start failed a short time ago.
func (p *Packages) run(ctx context.Context, installed voicepackage.Installed) {
	f := p.failed[installed.SHA256]
	if p.Now().Before(f.next) {
		return
	}
	err := p.open(ctx, installed)
	if err == nil {
		delete(p.failed, installed.SHA256)
		return
	}
	if f.times == 0 {
		p.Logger.WarnContext(ctx, "an installed voice cannot run here, and others speak in its place",
			"voice", installed.Voice, "error", err)
	}
	p.failed[installed.SHA256] = failure{f.times + 1, p.Now().Add(firstRetry << min(f.times, lastRetries))}
}

// open starts a voice. Files that a crash has damaged are read from the blob store at the next attempt.
func (p *Packages) open(ctx context.Context, installed voicepackage.Installed) error {
	v, err := p.local(ctx, installed)
	if err != nil {
		return err
	}
	if err := p.Engines.Open(v); err != nil {
		if _, damaged := voicepack.Open(os.DirFS(v.Folder)); errors.Is(damaged, voicepack.ErrPackage) {
			err = errors.Join(err, os.RemoveAll(v.Folder))
		}
		return err
	}
	return nil
}

// local returns a voice with its folder on this instance, after unpacking its package if necessary.
func (p *Packages) local(ctx context.Context, installed voicepackage.Installed) (voicepack.Voice, error) {
	v := voicepack.Voice{ID: installed.Voice, Languages: installed.Languages, Cost: installed.Cost,
		Package: installed.SHA256, Folder: filepath.Join(p.Folder, installed.SHA256)}
	if _, err := os.Stat(v.Folder); err == nil {
		return v, nil
	}
	archive, err := p.Blobs.Open(ctx, blobs.Address(installed.Blob), 0, installed.Size)
	if err != nil {
		return v, fmt.Errorf("reading a package: %w", err)
	}
	defer archive.Close()
	folder, err := p.unpack(archive, installed.SHA256)
	if err != nil {
		return v, err
	}
	if err := os.Rename(folder, v.Folder); err != nil {
		return v, errors.Join(fmt.Errorf("keeping a package: %w", err), os.RemoveAll(folder))
	}
	return v, nil
}

// sweep removes the folders of packages that are not installed, including those left by crashes.
func (p *Packages) sweep(state voicepackage.State) error {
	entries, err := os.ReadDir(p.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for packages: %w", err)
	}
	for _, entry := range entries {
		if state.Has(entry.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(p.Folder, entry.Name())); err != nil {
			return fmt.Errorf("removing a package: %w", err)
		}
	}
	return nil
}

// voicesOf returns the voices of the catalogue: the installed ones, and the system voices for which they speak.
func voicesOf(state voicepackage.State) (voices []speech.Voice) {
	for _, installed := range state.Packages {
		voices = append(voices, voiceOf(installed))
	}
	for _, system := range speech.Voices() {
		i := state.Index(state.Assigned[system.ID])
		if i < 0 {
			continue
		}
		installed := state.Packages[i]
		system.Gender, system.Installed = installed.Gender, voiceOf(installed).Installed
		system.Description = strings.TrimSpace(system.Description + " " + installed.Attribution)
		voices = append(voices, system)
	}
	return voices
}

// voiceOf returns an installed voice as the catalogue has it.
func voiceOf(p voicepackage.Installed) speech.Voice {
	variant := "f2"
	if p.Gender == "M" {
		variant = "m3"
	}
	description := strings.TrimSpace(p.Description + " " + p.Attribution)
	installed := &speech.Installed{ID: p.Voice, Languages: p.Languages, Gain: p.Gain}
	if p.Clones() {
		installed.Base = &speech.Base{Package: p.SHA256, Sound: []byte(p.Sound)}
	}
	return speech.Voice{
		ID: p.Voice, Name: p.Name, Gender: p.Gender, Description: description, Variant: variant, Installed: installed,
	}
}
