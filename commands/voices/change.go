package voices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/star"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

var (
	errForeign = domain.Refuse(domain.Denied, "The voice belongs to the system; it can only be starred")
	errSystem  = domain.Refuse(domain.Denied, "The voice belongs to the system")
)

// Change is a client's change of a voice. Nil fields are unchanged.
type Change struct {
	Name        *string
	Description *string
	Gender      *string
	Tags        *[]string
	Starred     *bool
}

func (c Change) apply(p voice.Profile) voice.Profile {
	set := func(field, to *string) {
		if to != nil {
			*field = *to
		}
	}
	set(&p.Name, c.Name)
	set(&p.Description, c.Description)
	set(&p.Gender, c.Gender)
	if c.Tags != nil {
		p.Tags = *c.Tags
	}
	return p
}

// Update changes a voice of an account, and whether the account has starred it. A system voice can only be starred;
// other changes are ignored. Errors: domain.NotFound for an unknown voice; domain.Denied for a change of a system voice
// without a star.
func (v *Voices) Update(ctx context.Context, account, id string, c Change, origin journal.Origin) (Voice, error) {
	updated := Voice{ID: id}
	if _, system := v.Catalogue.Lookup(id); system {
		if c.Starred == nil {
			return Voice{}, errForeign
		}
	} else {
		state, position, err := v.update(ctx, account, id, c, origin)
		if err != nil {
			return Voice{}, err
		}
		updated.State, updated.Position = state, position
	}
	return v.star(ctx, account, updated, c.Starred, origin)
}

// update changes the profile of an account's own voice.
func (v *Voices) update(
	ctx context.Context, account, id string, c Change, origin journal.Origin,
) (voice.State, eventlog.Position, error) {
	if !voice.ValidID(id) {
		return voice.State{}, eventlog.Position{}, voice.ErrNotFound
	}
	at := v.now()
	return journal.Execute(ctx, v.Journal, streamOf(id), journal.Prepare(func(s voice.State) (command, error) {
		change := voice.Change{Account: account, At: at}
		if err := s.RequireOf(account); err != nil {
			return nil, err
		}
		former, err := v.profile(ctx, s)
		if err != nil {
			return nil, err
		}
		if changed := c.apply(former); !reflect.DeepEqual(changed, former) {
			change.Sealed, err = v.sealProfile(ctx, account, id, changed)
		}
		return change, err
	}), origin.Metadata(uuid.New(), at))
}

// star stars a voice or withdraws its star. If starred is nil, it only reads whether the voice is starred.
func (v *Voices) star(
	ctx context.Context, account string, of Voice, starred *bool, origin journal.Origin,
) (Voice, error) {
	if starred == nil {
		state, _, err := journal.Load(ctx, v.Journal, starsOf(account))
		of.Starred = state.Has(of.ID)
		return of, err
	}
	at := v.now()
	set := star.Set{Account: account, Voice: of.ID, Starred: *starred, At: at}
	_, position, err := journal.Execute(ctx, v.Journal, starsOf(account), starCommand(set),
		origin.Metadata(uuid.New(), at))
	of.Starred, of.Position = *starred, journal.Later(of.Position, position)
	return of, err
}

// profile decrypts a client's description of a voice. It is empty after the erasure of its key.
func (v *Voices) profile(ctx context.Context, s voice.State) (p voice.Profile, err error) {
	plain, err := v.Keys.Open(ctx, s.Account, s.Sealed, voice.SealedFor(s.Voice))
	if keyring.Gone(err) && !errors.Is(err, keyring.ErrErased) {
		return voice.Profile{}, nil
	}
	if err != nil {
		return voice.Profile{}, fmt.Errorf("reading a voice: %w", explainKeys(err))
	}
	if json.Unmarshal(plain, &p) != nil {
		return voice.Profile{}, errors.New("reading a voice: the sealed data is not a profile") // the cause might quote it
	}
	return p, nil
}

// InvalidatePreview requests a new preview of an account's voice. Errors: domain.NotFound; domain.Denied for a system
// voice.
func (v *Voices) InvalidatePreview(
	ctx context.Context, account, id string, origin journal.Origin,
) (eventlog.Position, error) {
	if err := v.requireOwn(id); err != nil {
		return eventlog.Position{}, err
	}
	at := v.now()
	var former voice.Preview
	_, position, err := journal.Execute(ctx, v.Journal, streamOf(id),
		journal.Prepare(func(s voice.State) (command, error) {
			former = s.Preview
			return voice.InvalidatePreview{Account: account, At: at}, nil
		}), origin.Metadata(uuid.New(), at))
	if err == nil && former.Blob != "" {
		v.remove(ctx, former.Blob)
	}
	return position, err
}

// requireOwn refuses an id that is not of an account's voice.
func (v *Voices) requireOwn(id string) error {
	if _, system := v.Catalogue.Lookup(id); system {
		return errSystem
	}
	if !voice.ValidID(id) {
		return voice.ErrNotFound
	}
	return nil
}
