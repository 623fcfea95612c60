package keyring

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// copyFormat is the version of the format of a copy: lines of JSON with a header, the keys, and an end.
const copyFormat = 1

// maxCopyLine is the maximum length of a line of a copy in bytes: several times the length of a key's line.
const maxCopyLine = 16 << 10

// ErrCopy means that a copy of a keyring is cut off, or damaged, or of a later release.
var ErrCopy = errors.New("the copy of the keyring is not whole, or of a format that this release does not know")

// CopiedKey is an account's key in a copy, as in the store: wrapped with the master key.
type CopiedKey struct {
	Account string     `json:"account"`
	Wrapped []byte     `json:"wrapped,omitempty"` // empty: erased
	Master  string     `json:"master"`            // id of the master key
	Created time.Time  `json:"created"`
	Erased  *time.Time `json:"erased,omitempty"`
}

// Imported counts what an import found.
type Imported struct {
	Keys   int // of accounts, including tombstones
	Erased int // of these, keys in the copy that belong to closed accounts
}

// copyLine is any line of a copy.
type copyLine struct {
	Format  int    `json:"format,omitempty"`
	Keyring string `json:"keyring,omitempty"`
	*CopiedKey
	Keys *int `json:"keys,omitempty"` // in the last line, their number
}

// CopyWriter writes a copy of a keyring. It does not buffer.
type CopyWriter struct {
	to   *json.Encoder
	keys int
}

// NewCopyWriter begins a copy of the keyring with an id.
func NewCopyWriter(w io.Writer, id string) (*CopyWriter, error) {
	c := &CopyWriter{to: json.NewEncoder(w)}
	return c, c.line(copyLine{Format: copyFormat, Keyring: id})
}

// Write writes a key.
func (c *CopyWriter) Write(key CopiedKey) error {
	c.keys++
	return c.line(copyLine{CopiedKey: &key})
}

// End writes the last line, which marks the copy as complete.
func (c *CopyWriter) End() error { return c.line(copyLine{Keys: &c.keys}) }

func (c *CopyWriter) line(line copyLine) error {
	if err := c.to.Encode(line); err != nil {
		return fmt.Errorf("copying the keyring: %w", err)
	}
	return nil
}

// CopyReader reads a copy of a keyring, which may have hostile content.
type CopyReader struct {
	ID    string // of the keyring
	lines *bufio.Scanner
	keys  int
	ended bool
}

// NewCopyReader reads the beginning of a copy. Errors: ErrCopy, and r's.
func NewCopyReader(r io.Reader) (*CopyReader, error) {
	c := &CopyReader{lines: bufio.NewScanner(r)}
	c.lines.Buffer(nil, maxCopyLine)
	first, err := c.next()
	if err != nil {
		return nil, err
	}
	if first.Format != copyFormat || first.Keyring == "" {
		return nil, ErrCopy
	}
	c.ID = first.Keyring
	return c, nil
}

// Next returns the next key, or io.EOF at the end of a complete copy. Errors: ErrCopy, and the reader's.
func (c *CopyReader) Next() (CopiedKey, error) {
	if c.ended {
		return CopiedKey{}, io.EOF
	}
	line, err := c.next()
	switch {
	case err != nil:
		return CopiedKey{}, err
	case line.Keys != nil && *line.Keys == c.keys && !c.lines.Scan() && c.lines.Err() == nil:
		c.ended = true
		return CopiedKey{}, io.EOF
	case line.CopiedKey == nil || line.Account == "" || (len(line.Wrapped) == 0) != (line.Erased != nil):
		return CopiedKey{}, ErrCopy
	}
	c.keys++
	return *line.CopiedKey, nil
}

func (c *CopyReader) next() (line copyLine, err error) {
	if !c.lines.Scan() {
		if err := c.lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
			return line, fmt.Errorf("reading a copy of the keyring: %w", err)
		}
		return line, ErrCopy
	}
	if json.Unmarshal(c.lines.Bytes(), &line) != nil { // the error of json may quote its input
		return line, ErrCopy
	}
	return line, nil
}
