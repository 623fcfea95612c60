package account

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// StreamPrefix begins the names of the streams of accounts. The account's id follows it.
const StreamPrefix = "account-"

// Stream returns the stream of an account.
func Stream(id string) string { return StreamPrefix + id }

// State is the state on which an account is decided. The zero State is an account that was never opened.
type State struct {
	Facts

	SinceSnapshot int // events
}

// Facts are the part of the state that snapshots repeat.
type Facts struct {
	Account    string      `json:"account"`
	OpenedOn   plan.Type   `json:"plan"`
	Identity   string      `json:"identity"`
	FreePeriod *FreePeriod `json:"freePeriod"`
	OpenedAt   time.Time   `json:"openedAt"`

	// Entitlement is the current plan. Before the first subscription it is the plan of the opening, with months counted
	// from the start of FreePeriod, or from OpenedAt.
	Entitlement plan.Entitlement `json:"entitlement"`
	Version     int64            `json:"version"` // of the entitlement; 0 for the plan of the opening
	// revision of the subscription's event that Entitlement follows, if Version is not 0
	Followed int64 `json:"followed"`
	// the last ones that Entitlement, and those before it, have cut short or followed
	Before []Former `json:"before,omitempty"`

	Keys              []Key     `json:"keys"`          // at most MaxKeys, without revoked ones
	ProfileDigest     string    `json:"profileDigest"` // "" without a profile
	TermsAccepted     bool      `json:"termsAccepted"`
	WantsEmail        *bool     `json:"wantsEmail"` // nil before the owner has chosen
	Operator          bool      `json:"operator"`
	SessionsRevokedAt time.Time `json:"sessionsRevokedAt"` // sessions opened at or before it are not valid
	Closing           Closing   `json:"closing"`
	EraseAgainAt      time.Time `json:"eraseAgainAt"` // while Closing is ErasedOnce

	SpendingCap plan.SpendingCap `json:"spendingCap,omitzero"`
}

// Former is a period that a later entitlement, with a first period starting at Next, has cut short or followed.
type Former struct {
	plan.Period
	Next time.Time `json:"next"`
}

// Key is an API key of the account.
type Key struct {
	Hash       string `json:"hash"`
	Masked     string `json:"masked"`
	SealedName []byte `json:"sealedName,omitempty"`
}

// Closing is the progress of an account's closing.
type Closing string

// The steps of a closing.
const (
	NotClosed    Closing = ""
	Ending       Closing = "ending"         // closed; subscriptions are being ended and data erased
	ErasedOnce   Closing = "erased"         // the key is destroyed, too
	ErasedForAll Closing = "erased-for-all" // erased again, after requests that were still running
)

// Exists reports whether the account was ever opened.
func (s State) Exists() bool { return s.Account != "" }

// Closed reports whether the account was closed.
func (s State) Closed() bool { return s.Closing != NotClosed }

// Refusals of commands on an account.
var (
	ErrNoAccount error = domain.Refuse(domain.NotFound, "The account does not exist")
	// ErrClosed has the code of unknown credentials: a closed account has no valid ones.
	ErrClosed error = domain.Refuse(domain.Unauthenticated, "The account is closed")
)

// requireOpen refuses an account that was never opened or was closed.
func (s State) requireOpen() error { return s.requireOpenTo(ErrClosed) }

// requireOpenTo is requireOpen with the refusal of an account that was closed.
func (s State) requireOpenTo(closed error) error {
	switch {
	case !s.Exists():
		return ErrNoAccount
	case s.Closed():
		return closed
	}
	return nil
}

// Key returns the key of a masked form. It refuses one that the account does not have.
func (s State) Key(masked string) (Key, error) {
	if s.Closed() {
		return Key{}, ErrClosed
	}
	key, found := domain.First(s.Keys, func(k Key) bool { return k.Masked == masked })
	if !found {
		return key, domain.Refuse(domain.NotFound, "There is no such API key")
	}
	return key, nil
}

// HasKey reports whether the account has the key with a hash.
func (s State) HasKey(hash string) bool {
	return slices.ContainsFunc(s.Keys, func(k Key) bool { return k.Hash == hash })
}

// Evolve folds an event into the state.
func Evolve(s State, event Event) State {
	s.SinceSnapshot++
	switch e := event.(type) {
	case Opened:
		s.Account, s.OpenedOn, s.Identity, s.FreePeriod, s.OpenedAt = e.Account, e.Plan, e.Identity, e.FreePeriod, e.At
		s.Entitlement = e.Entitlement()
	case APIKeyCreated:
		s.Keys = append(slices.Clip(s.Keys), Key{Hash: e.Hash, Masked: e.Masked, SealedName: e.SealedName})
	case APIKeyRenamed:
		s.Keys = renamed(s.Keys, e.Hash, e.SealedName)
	case APIKeyRevoked:
		s.Keys = slices.DeleteFunc(slices.Clone(s.Keys), func(k Key) bool { return k.Hash == e.Hash })
	case ProfileRecorded:
		s.ProfileDigest = e.Digest
	case TermsAccepted:
		s.TermsAccepted = true
	case EmailPreferencesSet:
		s.WantsEmail = &e.WantsEmail
	case OperatorGranted:
		s.Operator = true
	case OperatorWithdrawn:
		s.Operator = false
	case Entitled:
		s = s.entitled(e)
	case SpendingCapSet:
		s.SpendingCap = e.SpendingCap
	case SessionsRevoked:
		s.SessionsRevokedAt = e.At
	case Closed:
		s.Closing = Ending
	case Erased:
		s.Closing, s.EraseAgainAt = ErasedOnce, e.AgainAt
	case ErasureRepeated:
		s.Closing = ErasedForAll
	case SnapshotTaken:
		s = State{Facts: e.Facts}
	}
	return s
}

func renamed(keys []Key, hash string, sealed []byte) []Key {
	keys = slices.Clone(keys)
	for i := range keys {
		if keys[i].Hash == hash {
			keys[i].SealedName = sealed
		}
	}
	return keys
}
