package commands

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Accounts opens accounts and gives them keys.
type Accounts struct {
	journal Journal
	now     func() time.Time
	random  io.Reader // of keys
}

// NewAccounts makes an Accounts that tells the time by now.
func NewAccounts(journal Journal, now func() time.Time) *Accounts {
	return &Accounts{journal: journal, now: now, random: rand.Reader}
}

// NewKey is a key that was just created: the only moment at which it is known.
type NewKey struct {
	Key      string
	Masked   string
	Position eventlog.Position
}

// NewAccount is an account that was just opened.
type NewAccount struct {
	Account string
	Key     NewKey
}

func accountStream(id string) string { return account.StreamPrefix + id }

// Open opens an account on a plan and gives it a first key. An unknown plan is refused with domain.Invalid.
func (a *Accounts) Open(ctx context.Context, planType string, actor eventlog.Actor) (NewAccount, error) {
	id := NewAccountID()
	if _, err := a.open(ctx, id, plan.Type(planType), actor); err != nil {
		return NewAccount{}, err
	}
	key, err := a.CreateKey(ctx, id, "", actor)
	if err != nil {
		return NewAccount{}, err
	}
	return NewAccount{Account: id, Key: key}, nil
}

// NewAccountID draws the id of an account.
func NewAccountID() string {
	id := uuid.Must(uuid.NewV7())
	return fmt.Sprintf("%x", id[:])
}

// CreateKey draws a key and adds it to an account.
func (a *Accounts) CreateKey(ctx context.Context, id, name string, actor eventlog.Actor) (NewKey, error) {
	for {
		key, err := account.DrawAPIKey(a.random)
		if err != nil {
			return NewKey{}, err
		}
		position, err := a.addKey(ctx, id, key, name, actor)
		if domain.CodeOf(err) == domain.Conflict && ctx.Err() == nil {
			continue // another key looks the same when masked
		}
		if err != nil {
			return NewKey{}, err
		}
		return NewKey{Key: key, Masked: account.MaskAPIKey(key), Position: position}, nil
	}
}

// Ensure makes sure that an account with this id, plan and key exists, and changes nothing when it does: whoever keeps
// the key can repeat it after a crash. A key that was revoked is account.ErrKeyRevoked.
func (a *Accounts) Ensure(ctx context.Context, id, planType, key, keyName string) (eventlog.Position, error) {
	actor := eventlog.Actor{Kind: eventlog.ActorSystem}
	if _, err := a.open(ctx, id, plan.Type(planType), actor); err != nil {
		return eventlog.Position{}, err
	}
	return a.addKey(ctx, id, key, keyName, actor)
}

func (a *Accounts) open(ctx context.Context, id string, planType plan.Type, actor eventlog.Actor) (eventlog.Position, error) {
	order := a.order(actor)
	return execute(ctx, a.journal, accountStream(id), account.Evolve, account.Open{Account: id, Plan: planType, At: order.At}, order)
}

func (a *Accounts) addKey(ctx context.Context, id, key, name string, actor eventlog.Actor) (eventlog.Position, error) {
	order := a.order(actor)
	create := account.CreateAPIKey{Hash: account.HashAPIKey(key), Masked: account.MaskAPIKey(key), Name: name, At: order.At}
	return execute(ctx, a.journal, accountStream(id), account.Evolve, create, order)
}

func (a *Accounts) order(actor eventlog.Actor) Order {
	return Order{Command: uuid.New(), Actor: actor, At: a.now().UTC()}
}
