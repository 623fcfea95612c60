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

// record is a stored object. It has no value if the object is deleted.
type record struct {
	Owner string          `json:"owner,omitempty"` // key of the object that it is listed by
	Due   time.Time       `json:"due,omitzero"`    // time of its next due work
	Value json.RawMessage `json:"value,omitempty"`
}

// store keeps records in memory and in a file, to which each transaction appends its changes as a line of JSON. Changes
// survive a crash of the process, but not of the machine, because the file is not synced.
type store struct {
	mu      sync.Mutex // held by the running transaction
	file    *os.File
	size    int64
	records map[string]map[string]record // by kind and key
}

// openStore reads the store from a file, if it exists, and compacts the file.
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
			break // cut by a crash
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

// append appends changes to the file. If it fails, it removes a partly written line.
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

// kindOf returns the kind of object that a key belongs to.
func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "_")
	return kind
}

// update calls change with a transaction, and commits it if change succeeds. Transactions run one at a time.
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

// close closes the file. It must not be called during a transaction.
func (s *store) close() error { return s.file.Close() }

// transaction reads the store including its own changes.
type transaction struct {
	store   *store
	changes map[string]record
}

// undo discards all changes of the transaction.
func (t *transaction) undo() { clear(t.changes) }

// get returns the record with this key.
func (t *transaction) get(key string) (record, bool) {
	r, ok := t.changes[key]
	if !ok {
		r, ok = t.store.records[kindOf(key)][key]
	}
	return r, ok && r.Value != nil
}

// put creates or replaces a record.
func (t *transaction) put(key string, r record) { t.changes[key] = r }

// delete deletes a record, if it exists.
func (t *transaction) delete(key string) { t.changes[key] = record{} }

// keys returns the keys of a kind's records with this owner, newest first. If owner is "", it returns all keys of the
// kind.
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

// firstDue returns the key and time of the record that is due first, among records of some kinds. The key is "" if no
// record has a due time.
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

// setting reads a named value. It leaves into unchanged if there is none.
func (t *transaction) setting(name string, into any) {
	if r, ok := t.get(settingKind + "_" + name); ok {
		decode(r.Value, into)
	}
}

// setSetting stores a named value.
func (t *transaction) setSetting(name string, value any) {
	t.put(settingKind+"_"+name, record{Value: encode(value)})
}

// nextID returns a new id with a prefix, such as "cus". Ids sort in the order of their creation.
func (t *transaction) nextID(prefix string) string {
	n := uint64(1)
	t.setting("next", &n)
	t.setSetting("next", n+1)
	digits := strings.ToUpper(strconv.FormatUint(n, 36))
	return prefix + "_" + strings.Repeat("0", max(0, 10-len(digits))) + digits
}

// encode returns the JSON of a value of this package, whose types can all be encoded.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", v, err))
	}
	return raw
}

// decode decodes the result of encode.
func decode(raw json.RawMessage, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		panic(fmt.Sprintf("decoding %T: %v", into, err))
	}
}
