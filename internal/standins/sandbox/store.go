package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// record is a stored object. A record without a value is a deleted object.
type record struct {
	Owner string          `json:"owner,omitempty"` // key of the object that lists it
	Due   time.Time       `json:"due,omitzero"`    // when the clock has something to do for it
	Value json.RawMessage `json:"value,omitempty"`
}

// store keeps records in memory and in one file, to which each transaction appends its changes as a line of JSON. What
// a transaction has written survives a crash of the process, but not of the machine: nothing is synced.
type store struct {
	mu      sync.Mutex // held by the running transaction
	file    *os.File
	size    int64
	records map[string]map[string]record // by kind and key
}

// openStore reads the store in a file, which need not exist, and rewrites it without the changes of the past.
func openStore(path string) (*store, error) {
	s := &store{records: map[string]map[string]record{}}
	if err := s.read(path); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := s.rewrite(path); err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return s, nil
}

func (s *store) read(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range bytes.Lines(raw) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it was cut by a crash
		}
		var changes map[string]record
		if err := json.Unmarshal(line, &changes); err != nil {
			return err
		}
		s.apply(changes)
	}
	return err
}

func (s *store) rewrite(path string) error {
	all := map[string]record{}
	for _, records := range s.records {
		maps.Copy(all, records)
	}
	line := append(encode(all), '\n')
	if err := os.WriteFile(path+".new", line, 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	s.file, s.size = file, int64(len(line))
	return err
}

// append writes changes to the file, or nothing of them.
func (s *store) append(changes map[string]record) error {
	line := append(encode(changes), '\n')
	if _, err := s.file.WriteAt(line, s.size); err != nil {
		return errors.Join(err, s.file.Truncate(s.size))
	}
	s.size += int64(len(line))
	return nil
}

func (s *store) apply(changes map[string]record) {
	for key, r := range changes {
		kind := kindOf(key)
		if r.Value == nil {
			delete(s.records[kind], key)
			continue
		}
		if s.records[kind] == nil {
			s.records[kind] = map[string]record{}
		}
		s.records[kind][key] = r
	}
}

// kindOf returns the kind of the object with a key.
func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "_")
	return kind
}

// update calls change with a transaction and commits it, unless change fails. Transactions run one at a time.
func (s *store) update(change func(*transaction) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &transaction{store: s, changes: map[string]record{}}
	if err := change(t); err != nil || len(t.changes) == 0 {
		return err
	}
	if err := s.append(t.changes); err != nil {
		return fmt.Errorf("writing the payment sandbox's state: %w", err)
	}
	s.apply(t.changes)
	return nil
}

// close closes the file. No transaction may be running.
func (s *store) close() error { return s.file.Close() }

// transaction sees its own changes.
type transaction struct {
	store   *store
	changes map[string]record
}

// undo drops the changes that were made so far.
func (t *transaction) undo() { clear(t.changes) }

// get returns the record with a key.
func (t *transaction) get(key string) (record, bool) {
	r, ok := t.changes[key]
	if !ok {
		r, ok = t.store.records[kindOf(key)][key]
	}
	return r, ok && r.Value != nil
}

// put creates or replaces the record with a key.
func (t *transaction) put(key string, r record) { t.changes[key] = r }

// delete deletes the record with a key, if there is one.
func (t *transaction) delete(key string) { t.changes[key] = record{} }

// keys returns the keys of a kind's records, newest first: those of an owner, or all if owner is "".
func (t *transaction) keys(kind, owner string) []string {
	all := map[string]record{}
	maps.Copy(all, t.store.records[kind])
	maps.Copy(all, t.changes)
	var keys []string
	for key, r := range all {
		if kindOf(key) == kind && r.Value != nil && (owner == "" || r.Owner == owner) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	slices.Reverse(keys)
	return keys
}

// firstDue returns the key of the record of some kinds that is due first, and when; "" if none is due.
func (t *transaction) firstDue(kinds ...string) (first string, due time.Time) {
	for _, kind := range kinds {
		for _, key := range t.keys(kind, "") {
			r, _ := t.get(key)
			later := first != "" && (r.Due.After(due) || r.Due.Equal(due) && key > first)
			if !r.Due.IsZero() && !later {
				first, due = key, r.Due
			}
		}
	}
	return first, due
}

const settingKind = "setting"

// setting reads a value that was kept under a name. It leaves into unchanged if there is none.
func (t *transaction) setting(name string, into any) {
	if r, ok := t.get(settingKind + "_" + name); ok {
		decode(r.Value, into)
	}
}

// setSetting keeps a value under a name.
func (t *transaction) setSetting(name string, value any) {
	t.put(settingKind+"_"+name, record{Value: encode(value)})
}

// nextID returns a new id that begins with a prefix, such as "cus". Ids sort in the order in which they were returned.
func (t *transaction) nextID(prefix string) string {
	n := uint64(1)
	t.setting("next", &n)
	t.setSetting("next", n+1)
	digits := strings.ToUpper(strconv.FormatUint(n, 36))
	return prefix + "_" + strings.Repeat("0", max(0, 10-len(digits))) + digits
}

// encode returns the JSON of a value of this package, all of which have one.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", v, err))
	}
	return raw
}

// decode reads what encode has written.
func decode(raw json.RawMessage, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		panic(fmt.Sprintf("decoding %T: %v", into, err))
	}
}
