// Package pronunciations manages the accounts' own pronunciations of words. The lists are in no read model: speech
// needs their current state, so that they are folded from their streams and cached between requests.
package pronunciations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/pronunciation"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/speech"
)

// Bounds of the cache: accounts, and all their entries, each of 1 or 2 kB.
const (
	maxOpened  = 1000
	maxEntries = 20_000
)

// Pronunciations executes the commands on the lists of accounts.
type Pronunciations struct {
	journal *journal.Journal
	keys    keyring.Keyring
	now     func() time.Time
	opened  *lru.Cache[string, *opened] // by account
	most    int64                       // maximum number of entries in it
}

// New returns a Pronunciations; now returns the time.
func New(j *journal.Journal, keys keyring.Keyring, now func() time.Time) *Pronunciations {
	lists, _ := lru.New[string, *opened](maxOpened) // fails for a size below 1
	return &Pronunciations{journal: j, keys: keys, now: now, opened: lists, most: maxEntries}
}

// Entry is an entry of a list.
type Entry struct {
	ID string
	speech.Pronunciation
	At time.Time // of its last change
}

// opened is the list of an account. Its fields are used by the goroutine that holds turn.
type opened struct {
	writing turn // of commands, which would conflict with each other otherwise
	turn    turn
	stream  *journal.Cached[pronunciation.State, pronunciation.Event]
	version journal.Version // from which the fields below follow, with
	skips   int             // the version of the set of skipped events
	entries []Entry
	lexicon *speech.Lexicon
	size    atomic.Int64 // entries
}

// turn is held by one goroutine at a time.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type command = journal.Decider[pronunciation.State, pronunciation.Event]

func streamOf(account string) journal.Stream[pronunciation.State, pronunciation.Event] {
	return journal.Stream[pronunciation.State, pronunciation.Event]{
		Name: pronunciation.Stream(account), Evolve: pronunciation.Evolve, Snapshot: pronunciation.State.Snapshot,
	}
}

// List returns the current list of an account, in the order of addition, and its position in the log.
func (p *Pronunciations) List(ctx context.Context, of string) (entries []Entry, at eventlog.Position, err error) {
	err = p.read(ctx, of, func(o *opened) { entries, at = o.entries, o.version.Position })
	return entries, at, err
}

// Lexicon returns the current list of an account, for speaking; nil if it is empty.
func (p *Pronunciations) Lexicon(ctx context.Context, of string) (lexicon *speech.Lexicon, err error) {
	err = p.read(ctx, of, func(o *opened) { lexicon = o.lexicon })
	return lexicon, err
}

// cached returns the list of an account as it is cached.
func (p *Pronunciations) cached(of string) *opened {
	if o, found := p.opened.Get(of); found {
		return o
	}
	o := &opened{writing: make(turn, 1), turn: make(turn, 1), stream: journal.NewCached(p.journal, streamOf(of)),
		version: journal.Version{Revision: eventlog.NoStream}}
	if known, found, _ := p.opened.PeekOrAdd(of, o); found {
		return known
	}
	return o
}

// use calls do with a list in its turn.
func (p *Pronunciations) use(ctx context.Context, o *opened, do func() error) error {
	if err := o.turn.take(ctx); err != nil {
		return err
	}
	defer func() { <-o.turn }()
	defer p.makeRoom()
	defer func() { o.size.Store(int64(len(o.stream.State().Entries))) }()
	return do()
}

// read calls show with the list of an account, after it has caught up with the log.
func (p *Pronunciations) read(ctx context.Context, of string, show func(*opened)) error {
	o := p.cached(of)
	return p.use(ctx, o, func() error {
		skips := p.journal.Registry.SkipsVersion()
		if err := o.stream.Refresh(ctx); err != nil {
			return err
		}
		if o.version != o.stream.Version() || o.skips != skips {
			entries, err := p.entriesOf(ctx, o.stream.State())
			if err != nil {
				return err
			}
			words := make([]speech.Pronunciation, len(entries))
			for i, e := range entries {
				words[i] = e.Pronunciation
			}
			o.entries, o.lexicon = entries, speech.NewLexicon(words)
			o.version, o.skips = o.stream.Version(), skips
		}
		show(o)
		return nil
	})
}

// execute executes a command on the list of an account. It reads only events that are newer than the cached list,
// because a client may change a long list often. Speech does not wait for it.
func (p *Pronunciations) execute(
	ctx context.Context, of string, c command, meta journal.Metadata,
) (eventlog.Position, error) {
	o := p.cached(of)
	if err := o.writing.take(ctx); err != nil {
		return eventlog.Position{}, err
	}
	defer func() { <-o.writing }()
	var stream *journal.Cached[pronunciation.State, pronunciation.Event]
	err := p.use(ctx, o, func() error {
		stream = o.stream.Copy()
		return nil
	})
	if err != nil {
		return eventlog.Position{}, err
	}
	_, position, err := stream.Execute(ctx, c, meta)
	_ = p.use(ctx, o, func() error { // if it fails, the next one reads more
		o.stream = stream
		return nil
	})
	return position, err
}

// makeRoom drops the least recently used lists until the others are within the bound of entries.
func (p *Pronunciations) makeRoom() {
	var sum int64
	for _, o := range p.opened.Values() {
		sum += o.size.Load()
	}
	for sum > p.most {
		_, oldest, some := p.opened.RemoveOldest()
		if !some {
			return
		}
		sum -= oldest.size.Load()
	}
}

// entriesOf opens the sealed entries. It omits those that cannot be decrypted any more.
func (p *Pronunciations) entriesOf(ctx context.Context, s pronunciation.State) ([]Entry, error) {
	entries := make([]Entry, 0, len(s.Entries))
	for _, e := range s.Entries {
		plain, err := p.keys.Open(ctx, s.Account, e.Sealed, pronunciation.SealedFor(e.ID))
		if keyring.Gone(err) && !errors.Is(err, keyring.ErrErased) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading a pronunciation: %w", explainKeys(err))
		}
		var content pronunciation.Content
		if json.Unmarshal(plain, &content) != nil {
			return nil, errors.New("reading a pronunciation: the sealed data is not one") // the cause might quote it
		}
		entries = append(entries, Entry{ID: e.ID, Pronunciation: speech.Pronunciation(content), At: e.At})
	}
	return entries, nil
}

// Set adds a word to the list of an account, or changes its pronunciation in this language. Setting the same one again
// has no effect. Errors: *speech.PronunciationError; domain.Denied if the list is full.
func (p *Pronunciations) Set(
	ctx context.Context, of string, said speech.Pronunciation, origin journal.Origin,
) (Entry, eventlog.Position, error) {
	said, err := said.Normal()
	if err != nil {
		return Entry{}, eventlog.Position{}, err
	}
	at, entry := p.now().UTC(), Entry{}
	fresh := uuid.NewString()
	position, err := p.execute(ctx, of, journal.Prepare(func(s pronunciation.State) (command, error) {
		entries, err := p.entriesOf(ctx, s)
		if err != nil {
			return nil, err
		}
		entry = Entry{ID: fresh, Pronunciation: said, At: at}
		set := pronunciation.SetEntry{Account: of, Entry: fresh, At: at}
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Word == said.Word && e.Language == said.Language })
		if i >= 0 {
			entry.ID, set.Entry = entries[i].ID, entries[i].ID
			if entries[i].Pronunciation == said {
				entry = entries[i]
				return set, nil
			}
		}
		set.Sealed, err = p.seal(ctx, of, entry)
		return set, err
	}), origin.Metadata(uuid.New(), at))
	return entry, position, err
}

func (p *Pronunciations) seal(ctx context.Context, of string, e Entry) ([]byte, error) {
	content, err := json.Marshal(pronunciation.Content(e.Pronunciation))
	if err != nil {
		return nil, fmt.Errorf("encoding a pronunciation: %w", err)
	}
	sealed, err := p.keys.Seal(ctx, of, content, pronunciation.SealedFor(e.ID))
	if err != nil {
		return nil, fmt.Errorf("sealing a pronunciation: %w", explainKeys(err))
	}
	return sealed, nil
}

func explainKeys(err error) error {
	if errors.Is(err, keyring.ErrErased) {
		return account.ErrClosed
	}
	return err
}

// Remove removes an entry from the list of an account. Errors: domain.NotFound.
func (p *Pronunciations) Remove(
	ctx context.Context, of, id string, origin journal.Origin,
) (eventlog.Position, error) {
	at := p.now().UTC()
	return p.execute(ctx, of, pronunciation.Remove{Entry: id, At: at}, origin.Metadata(uuid.New(), at))
}

// Forget drops the list of a closed account from the cache. The entries in the log are sealed with its key.
func (p *Pronunciations) Forget(_ context.Context, of string) error {
	p.opened.Remove(of)
	return nil
}
