// Package pgkeys stores the keys of the keyring in Postgres, each wrapped with the master key, which is never sent to
// Postgres.
package pgkeys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/subtle"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/recital-tts/recital/internal/access/keyring"
)

const (
	// MasterKeySize is the size of an AES-256 key, in bytes.
	MasterKeySize = 32

	cachedKeys = 4096
	// cachedFor bounds the time until another instance's erasure is noticed here.
	cachedFor = 30 * time.Second
)

// Config configures a Keyring. Pool, MasterKey and Logger are required.
type Config struct {
	Pool      *pgxpool.Pool
	MasterKey []byte // MasterKeySize random bytes
	Logger    *slog.Logger
	Now       func() time.Time // clock of the cache; nil means time.Now
}

// Keyring implements keyring.Keyring. An erasure takes effect immediately on the instance that executes it, and on
// others after at most 30 s.
type Keyring struct {
	pool     *pgxpool.Pool
	master   tink.AEAD
	masterID string
	log      *slog.Logger
	now      func() time.Time
	cache    *lru.Cache[string, cached] // by account
	prints   atomic.Pointer[prf.Set]    // the key of fingerprints; nil until it is first used
}

type cached struct {
	key   tink.AEAD
	until time.Time
}

// New returns a Keyring on a database that need not answer yet. Check verifies the master key.
func New(config Config) (*Keyring, error) {
	if config.Pool == nil || config.Logger == nil {
		return nil, errors.New("opening the keyring: a pool and a logger are needed")
	}
	if len(config.MasterKey) != MasterKeySize {
		return nil, fmt.Errorf("opening the keyring: the master key must have %d bytes", MasterKeySize)
	}
	master, err := subtle.NewAESGCM(config.MasterKey)
	if err != nil {
		return nil, fmt.Errorf("opening the keyring: %w", err)
	}
	cache, err := lru.New[string, cached](cachedKeys)
	if err != nil {
		return nil, fmt.Errorf("opening the keyring: %w", err)
	}
	k := &Keyring{
		pool: config.Pool, master: master, masterID: MasterKeyID(config.MasterKey), log: config.Logger, now: config.Now,
		cache: cache,
	}
	if k.now == nil {
		k.now = time.Now
	}
	return k, nil
}

// MasterKeyID returns an identifier of a master key from which the key cannot be derived.
func MasterKeyID(master []byte) string {
	sum := sha256.Sum256(append([]byte("recital master key "), master...))
	return hex.EncodeToString(sum[:8])
}

// Check refuses a master key other than the one that wraps the keys in the database.
func (k *Keyring) Check(ctx context.Context) error {
	var other bool
	query := `select exists (select from keyring.account_keys where wrapped_key is not null and master_key_id <> $1)`
	if err := k.pool.QueryRow(ctx, query, k.masterID).Scan(&other); err != nil {
		return failed(ctx, "opening the keyring", err)
	}
	if other {
		return errors.New("opening the keyring: the database holds keys that another master key wrapped; " +
			"give the file of that one (RECITAL_MASTER_KEY_FILE), or what they sealed stays unreadable")
	}
	return nil
}

// Seal implements keyring.Keyring.
func (k *Keyring) Seal(ctx context.Context, account string, plaintext []byte, use string) ([]byte, error) {
	key, err := k.key(ctx, account, k.readOrMake)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	sealed, err := key.Encrypt(plaintext, associated(account, use))
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return sealed, nil
}

// Open implements keyring.Keyring.
func (k *Keyring) Open(ctx context.Context, account string, sealed []byte, use string) ([]byte, error) {
	key, err := k.key(ctx, account, k.read)
	if errors.Is(err, keyring.ErrNoKey) {
		k.log.WarnContext(ctx, "an account's key is missing; what it sealed cannot be read", "account", account)
	}
	if err != nil {
		return nil, fmt.Errorf("opening sealed data: %w", err)
	}
	plaintext, err := key.Decrypt(sealed, associated(account, use))
	if err != nil {
		k.log.WarnContext(ctx, "sealed data cannot be opened", "account", account)
		return nil, fmt.Errorf("opening sealed data: %w", keyring.ErrUnreadable)
	}
	return plaintext, nil
}

// associated binds a ciphertext to its account and purpose. Lengths are not needed: an account's id contains no line
// break.
func associated(account, use string) []byte { return []byte(account + "\n" + use) }

// key returns an account's key, from the cache or from get.
func (k *Keyring) key(
	ctx context.Context, account string, get func(context.Context, string) (*keyset.Handle, error),
) (tink.AEAD, error) {
	if found, ok := k.cache.Get(account); ok && k.now().Before(found.until) {
		return found.key, nil
	}
	// computed before the lookup, which limits the caching of a key that is erased during it
	until := k.now().Add(cachedFor)
	handle, err := get(ctx, account)
	if err != nil {
		k.cache.Remove(account)
		return nil, err
	}
	key, err := aead.New(handle)
	if err != nil {
		return nil, fmt.Errorf("unwrapping an account's key: %w", err)
	}
	k.cache.Add(account, cached{key: key, until: until})
	return key, nil
}

func (k *Keyring) readOrMake(ctx context.Context, account string) (*keyset.Handle, error) {
	return k.readOrDraw(ctx, account, aead.AES256GCMKeyTemplate())
}

func (k *Keyring) readOrDraw(
	ctx context.Context, account string, template *tinkpb.KeyTemplate,
) (*keyset.Handle, error) {
	handle, err := k.read(ctx, account)
	if !errors.Is(err, keyring.ErrNoKey) {
		return handle, err
	}
	wrapped, err := k.draw(account, template)
	if err != nil {
		return nil, err
	}
	if err := k.insert(ctx, account, wrapped); err != nil {
		return nil, err
	}
	return k.read(ctx, account) // another instance may have been first
}

func (k *Keyring) read(ctx context.Context, account string) (*keyset.Handle, error) {
	var wrapped []byte
	err := k.pool.QueryRow(ctx, `select wrapped_key from keyring.account_keys where account_id = $1`,
		account).Scan(&wrapped)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, keyring.ErrNoKey
	}
	if err != nil {
		return nil, failed(ctx, "reading an account's key", err)
	}
	if wrapped == nil {
		return nil, keyring.ErrErased
	}
	return k.unwrap(account, wrapped)
}

// insert does not replace an existing key or tombstone.
func (k *Keyring) insert(ctx context.Context, account string, wrapped []byte) error {
	return k.durably(ctx, "writing an account's key",
		`insert into keyring.account_keys (account_id, wrapped_key, master_key_id) values ($1, $2, $3)
		on conflict (account_id) do nothing`,
		account, wrapped, k.masterID)
}

// Erase implements keyring.Keyring.
func (k *Keyring) Erase(ctx context.Context, account string) error {
	err := k.durably(ctx, "erasing an account's key", `
		insert into keyring.account_keys as k (account_id, wrapped_key, master_key_id, erased_at) values ($1, null, $2, now())
		on conflict (account_id) do update set wrapped_key = null, erased_at = coalesce(k.erased_at, now())`,
		account, k.masterID)
	k.cache.Remove(account)
	return err
}

// durably waits for the disk regardless of the database's settings: unlike a read model, a lost key cannot be
// rebuilt.
func (k *Keyring) durably(ctx context.Context, doing, statement string, arguments ...any) error {
	err := pgx.BeginTxFunc(ctx, k.pool, pgx.TxOptions{BeginQuery: "begin; set local synchronous_commit = on"},
		func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, statement, arguments...)
			return err
		})
	if err != nil {
		return failed(ctx, doing, err)
	}
	return nil
}

func failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, keyring.ErrUnavailable, err)
}

// ErasedAt returns the time at which an account's key was destroyed, or zero if it was not.
func (k *Keyring) ErasedAt(ctx context.Context, account string) (time.Time, error) {
	var at *time.Time
	err := k.pool.QueryRow(ctx, `select erased_at from keyring.account_keys where account_id = $1 and wrapped_key is null`,
		account).Scan(&at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, failed(ctx, "looking at an account's key", err)
	case at == nil:
		return time.Time{}, nil
	}
	return *at, nil
}

// fingerprints is the row of the key of fingerprints, in place of an account's id. Ids of accounts are longer, or
// "operator".
const fingerprints = "fingerprints"

// fingerprintSize is the size of an HMAC-SHA256 in bytes.
const fingerprintSize = 32

// Fingerprint implements keyring.Fingerprinter. The key is read once: it never changes, and is never erased.
func (k *Keyring) Fingerprint(ctx context.Context, data []byte, use string) ([]byte, error) {
	key := k.prints.Load()
	if key == nil {
		var err error
		if key, err = k.readPrints(ctx); err != nil {
			return nil, fmt.Errorf("taking a fingerprint: %w", err)
		}
		k.prints.Store(key)
	}
	print, err := key.ComputePrimaryPRF(append([]byte(use+"\n"), data...), fingerprintSize)
	if err != nil {
		return nil, fmt.Errorf("taking a fingerprint: %w", err)
	}
	return print, nil
}

func (k *Keyring) readPrints(ctx context.Context) (*prf.Set, error) {
	handle, err := k.readOrDraw(ctx, fingerprints, prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, err
	}
	return prf.NewPRFSet(handle)
}

// ID returns the id of the keyring, or "" if it has none yet.
func (k *Keyring) ID(ctx context.Context) (id string, err error) {
	if err := k.pool.QueryRow(ctx, `select coalesce((select id from keyring.identity), '')`).Scan(&id); err != nil {
		return "", failed(ctx, "reading the id of the keyring", err)
	}
	return id, nil
}

// Identify sets the id of the keyring, unless it has one, and returns its id.
func (k *Keyring) Identify(ctx context.Context, id string) (string, error) {
	err := k.durably(ctx, "writing the id of the keyring",
		`insert into keyring.identity (id) values ($1) on conflict (single) do nothing`, id)
	if err != nil {
		return "", err
	}
	return k.ID(ctx)
}

// draw creates a key for an account and wraps it. The account is authenticated, so that a key moved to another row is
// useless.
func (k *Keyring) draw(account string, template *tinkpb.KeyTemplate) ([]byte, error) {
	handle, err := keyset.NewHandle(template)
	if err != nil {
		return nil, fmt.Errorf("drawing an account's key: %w", err)
	}
	var wrapped bytes.Buffer
	if err := handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&wrapped), k.master, []byte(account)); err != nil {
		return nil, fmt.Errorf("wrapping an account's key: %w", err)
	}
	return wrapped.Bytes(), nil
}

func (k *Keyring) unwrap(account string, wrapped []byte) (*keyset.Handle, error) {
	handle, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(wrapped)), k.master,
		[]byte(account))
	if err != nil {
		return nil, fmt.Errorf("unwrapping an account's key: the master key does not fit, or the row was altered: %w", err)
	}
	return handle, nil
}
