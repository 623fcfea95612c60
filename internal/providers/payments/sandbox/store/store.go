// Package store keeps the sandbox's objects as JSON in a folder. Whatever one transaction changes is on disk before it
// returns, or nothing of it is.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrNotFound means that there is no object with an id.
var ErrNotFound = errors.New("no such object")

const (
	memTableSize = 4 << 20
	cacheBytes   = 8 << 20
)

// Store holds objects. Any goroutine may use it.
type Store struct {
	db   *pebble.DB
	lock *pebble.Lock
	mu   sync.Mutex // of transactions
}

// Open opens the store in a folder that exists, which no other process may use.
func Open(folder string, logger *slog.Logger) (*Store, error) {
	lock, err := pebble.LockDirectory(folder, vfs.Default)
	if err != nil {
		return nil, fmt.Errorf("locking the folder %s, is another process using it?: %w", folder, err)
	}
	cache := pebble.NewCache(cacheBytes)
	defer cache.Unref()
	db, err := pebble.Open(folder, &pebble.Options{
		Cache: cache, Lock: lock, MemTableSize: memTableSize,
		FormatMajorVersion: pebble.FormatNewest, Logger: messages{logger},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store: %w", err), lock.Close())
	}
	return &Store{db: db, lock: lock}, nil
}

// Close closes the store. No transaction may be open.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.lock.Close()) }

// Update calls change with a transaction, and commits it unless change fails. There is one transaction at a time.
func (s *Store) Update(change func(*Tx) error) error { return s.update(change, pebble.Sync) }

// UpdateSoon is Update for changes that may be lost in a crash, since they will be made again.
func (s *Store) UpdateSoon(change func(*Tx) error) error { return s.update(change, pebble.NoSync) }

func (s *Store) update(change func(*Tx) error, durable *pebble.WriteOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &Tx{batch: s.db.NewIndexedBatch()}
	if err := change(tx); err != nil {
		return errors.Join(err, tx.batch.Close())
	}
	if tx.batch.Empty() {
		return tx.batch.Close()
	}
	if err := tx.batch.Commit(durable); err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	return tx.batch.Close()
}

// Tx is a transaction, which sees its own changes.
type Tx struct{ batch *pebble.Batch }

// value returns what is kept under a key, or ErrNotFound.
func (t *Tx) value(key []byte) ([]byte, error) {
	v, closer, err := t.batch.Get(key)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return nil, ErrNotFound
	case err != nil:
		return nil, reading(err)
	}
	return append([]byte(nil), v...), closer.Close()
}

func (t *Tx) load(key []byte, into any) error {
	raw, err := t.value(key)
	if err != nil {
		return err
	}
	return decode(raw, into)
}

func (t *Tx) save(key []byte, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return written(t.batch.Set(key, raw, nil))
}

func decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("writing to the store: %w", err)
	}
	return nil
}

func reading(err error) error {
	if err != nil {
		return fmt.Errorf("reading from the store: %w", err)
	}
	return nil
}

// messages writes what Pebble says to a log.
type messages struct{ logger *slog.Logger }

func (messages) Infof(string, ...any) {}

func (m messages) Errorf(format string, args ...any) {
	m.logger.Error("payment sandbox: the store: " + fmt.Sprintf(format, args...))
}

// Fatalf is called when Pebble cannot go on; it must not return.
func (m messages) Fatalf(format string, args ...any) {
	panic("payment sandbox: the store: " + fmt.Sprintf(format, args...))
}
