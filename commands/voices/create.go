package voices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// Creation is a request for a voice.
type Creation struct {
	Account    string
	Plan       plan.Type // of the account
	Type       voice.Type
	Profile    voice.Profile
	Enhance    bool // reduce steady noise in the recordings
	Filter     bool // omit unusable stretches of the recordings
	Files      []File
	Repetition domain.Repetition
}

// File is a recording from a client. It is read until Create returns.
type File struct {
	audio.Upload
	SHA256 string // of its bytes, in hex
}

// Refusals.
var (
	// ErrUnderway has the code domain.Conflict: a request with the same Idempotency-Key is running.
	ErrUnderway error = domain.Refuse(domain.Conflict, "A request with this Idempotency-Key is under way")

	errFiles   = domain.Refuse(domain.Invalid, "A voice is made from 1 to 20 files, none of which is empty")
	errProfile = domain.Refuse(domain.Invalid, "The profile of the voice is too long")
	errLost    = domain.Refuse(domain.Unavailable, "Storing the recordings took too long; create the voice again")
)

const (
	maxProfile = 64 << 10 // bytes
	// storeTimeout bounds the storing of recordings. It is much less than sweepAge.
	storeTimeout = 15 * time.Minute
	// cleanTimeout bounds the removal of unused blobs by a request. The rest is swept later.
	cleanTimeout = 5 * time.Second
	// pollEvery is the interval at which a request checks whether its voice has been made, on any instance.
	pollEvery = 100 * time.Millisecond
)

// Room refuses an account that can have no other voice of any type, before its files are received. Errors:
// domain.PaymentRequired; domain.Unauthenticated for a closed account.
func (v *Voices) Room(ctx context.Context, account string, on plan.Type) error {
	limits, err := v.limits(on)
	if err != nil {
		return err
	}
	state, _, err := journal.Load(ctx, v.Journal, rosterOf(account))
	if err != nil {
		return err
	}
	return limits.Room(state)
}

func (v *Voices) limits(on plan.Type) (roster.Limits, error) {
	terms, err := plan.Lookup(on)
	return roster.Limits{Plan: terms, Most: v.Limits.PerAccount}, err
}

// Create creates a voice from recordings. It returns an instant voice when it is ready or broken, or unfinished after
// Limits.Wait, and a professional one immediately. A repetition of an earlier request creates no other voice, and
// returns the voice of the earlier one. Errors: domain.PaymentRequired if the plan includes no further voice;
// domain.ErrKeyReused; ErrUnderway; domain.NotFound if the voice of an earlier request was deleted; domain.Unavailable.
func (v *Voices) Create(ctx context.Context, c Creation, origin journal.Origin) (Voice, error) {
	if len(c.Files) == 0 || len(c.Files) > voice.MaxRecordings ||
		slices.ContainsFunc(c.Files, func(f File) bool { return f.Size() == 0 }) {
		return Voice{}, errFiles
	}
	id, err := voice.DrawID(v.random)
	if err != nil {
		return Voice{}, err
	}
	limits, err := v.limits(c.Plan)
	if err != nil {
		return Voice{}, err
	}
	take := roster.Take{Account: c.Account, Voice: id, Type: c.Type, Limits: limits, Repetition: c.Repetition, At: v.now()}
	earlier, err := v.admit(ctx, take)
	if err != nil {
		return Voice{}, err
	}
	if earlier == "" {
		if earlier, err = v.create(ctx, c, take, origin); err != nil {
			return Voice{}, err
		}
	}
	made, err := v.await(ctx, earlier)
	switch {
	case err != nil:
		return Voice{}, err
	case made.State.Phase == "":
		return Voice{}, ErrUnderway
	case made.State.Deleted && earlier != id:
		return Voice{}, voice.ErrNotFound
	}
	return made, nil
}

// admit checks a request before its files are stored, and returns the voice that an earlier request has created.
func (v *Voices) admit(ctx context.Context, take roster.Take) (string, error) {
	state, _, err := journal.Load(ctx, v.Journal, rosterOf(take.Account))
	if err != nil {
		return "", err
	}
	if _, err := take.Decide(state); err != nil {
		return "", err
	}
	return take.Repeated(state)
}

// create stores the recordings, takes the place, and creates the voice. It returns the id of the voice, or of the voice
// that a request with the same key has created in the meantime.
func (v *Voices) create(ctx context.Context, c Creation, take roster.Take, origin journal.Origin) (string, error) {
	create := voice.Create{Voice: take.Voice, Account: c.Account, Type: c.Type, Enhance: c.Enhance, Filter: c.Filter}
	var err error
	if create.Sealed, err = v.sealProfile(ctx, c.Account, take.Voice, c.Profile); err != nil {
		return "", err
	}
	keep := false
	defer func() {
		if !keep {
			v.clean(ctx, create.Recordings)
		}
	}()
	if err := v.store(ctx, c, &create); err != nil {
		return "", err
	}
	take.At = v.now()
	state, _, err := journal.Execute(ctx, v.Journal, rosterOf(c.Account), rosterCommand(take),
		origin.Metadata(uuid.New(), take.At))
	if err != nil {
		keep = !final(err) // the place may be taken; SettlePlace decides
		return "", err
	}
	if holder, err := take.Repeated(state); err != nil || holder != "" && holder != take.Voice {
		return holder, err
	}
	create.At = v.now()
	_, _, err = v.do(ctx, take.Voice, create, origin)
	if domain.CodeOf(err) == domain.Conflict {
		return "", errLost
	}
	keep = err == nil || !final(err)
	return take.Voice, err
}

// final reports whether an error means that no event was or will be appended.
func final(err error) bool {
	code := domain.CodeOf(err)
	return code != "" && code != domain.Unavailable
}

// store stores the recordings, sealed.
func (v *Voices) store(ctx context.Context, c Creation, create *voice.Create) error {
	storing, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, file := range c.Files {
		blob, err := v.put(storing, c.Account, create.Voice, io.NewSectionReader(file, 0, file.Size()), file.Size())
		if err != nil {
			if storing.Err() != nil && ctx.Err() == nil {
				return errLost
			}
			return fmt.Errorf("storing a recording: %w", err)
		}
		create.Recordings = append(create.Recordings, voice.Recording{Blob: string(blob.Address), Bytes: blob.Size,
			SHA256: file.SHA256})
	}
	return nil
}

// clean removes recordings that belong to no voice. The rest is swept later.
func (v *Voices) clean(ctx context.Context, recordings []voice.Recording) {
	var addresses []string
	for _, r := range recordings {
		addresses = append(addresses, r.Blob)
	}
	v.remove(ctx, addresses...)
}

func (v *Voices) sealProfile(ctx context.Context, of, id string, p voice.Profile) ([]byte, error) {
	plain, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encoding a voice's profile: %w", err)
	}
	if len(plain) > maxProfile {
		return nil, errProfile
	}
	sealed, err := v.Keys.Seal(ctx, of, plain, voice.SealedFor(id))
	return sealed, explainKeys(err)
}

// explainKeys translates an error of the keyring for accounts.
func explainKeys(err error) error {
	if errors.Is(err, keyring.ErrErased) {
		return account.ErrClosed
	}
	return err
}

// await returns an instant voice when it is ready or broken, or as it is after Limits.Wait.
func (v *Voices) await(ctx context.Context, id string) (Voice, error) {
	end := time.NewTimer(v.Limits.Wait)
	defer end.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for waits := true; ; {
		state, position, err := v.load(ctx, id)
		if err != nil || !waits || state.Type != voice.Instant || !state.Unfinished() {
			return Voice{ID: id, State: state, Position: position}, err
		}
		select {
		case <-poll.C:
		case <-end.C:
			waits = false
		case <-ctx.Done():
			return Voice{}, context.Cause(ctx)
		}
	}
}

// SettleProcess is the name of the to-do list of places without a created voice.
const SettleProcess = "settle_voice_place"

// SettlePlace frees a place without a voice, and prevents a later creation.
func (v *Voices) SettlePlace(ctx context.Context, account, id string, cause uuid.UUID) (eventlog.Position, error) {
	origin := journal.CausedBy(cause)
	state, position, err := v.do(ctx, id, voice.Abandon{Voice: id, Account: account, At: v.now()}, origin)
	if err != nil || !state.Abandoned {
		return position, err
	}
	freed, err := v.free(ctx, account, []string{id}, true, origin)
	return journal.Later(position, freed), err
}
