// Package operators reads the token files of the admin address. A file holds a single token, or one line per operator
// with the hash of that operator's token.
package operators

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// The roles.
const (
	Operator = "operator"
	Auditor  = "auditor"
)

// minToken is the minimum length of a token, in characters: 128 bits in hex.
const minToken = 32

// Token admits callers with a token of this hash.
type Token struct {
	Name string // of the person, or the role for a file with a single token
	Role string
	Hash [sha256.Size]byte
}

// Single returns the token of a role from a file with a single token. Its name is the role.
func Single(role, token string) Token {
	return Token{Name: role, Role: role, Hash: sha256.Sum256([]byte(token))}
}

// File is a file of tokens.
type File struct {
	Path string // for errors, which never quote the contents of the file
	Role string // of its token, if it contains only one
	Text string
}

// Parse returns the tokens of all files in their order. Names and tokens are unique over all of them.
func Parse(files ...File) ([]Token, error) {
	var all []placed
	for _, f := range files {
		found, err := f.parse()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if err := checkUnique(all); err != nil {
		return nil, err
	}
	tokens := make([]Token, len(all))
	for i, p := range all {
		tokens[i] = p.token
	}
	return tokens, nil
}

// placed is a token with its location.
type placed struct {
	token Token
	place string
}

func (f File) parse() ([]placed, error) {
	text := strings.TrimSpace(f.Text)
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return f.parseLines(f.Text)
	}
	if !usable(text) {
		return nil, fmt.Errorf("%s holds no token: at least %d characters of ASCII without spaces are "+
			"needed, such as those that "+
			"openssl rand -hex 32 prints; in a data folder, delete it, and the next start makes a new one", f.Path, minToken)
	}
	return []placed{{Single(f.Role, text), f.Path}}, nil
}

// usable reports whether a token is long enough and fits into a header.
func usable(token string) bool {
	unfit := func(c rune) bool { return c <= ' ' || c > '~' }
	return len(token) >= minToken && !strings.ContainsFunc(token, unfit)
}

func (f File) parseLines(text string) ([]placed, error) {
	var found []placed
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		place := fmt.Sprintf("%s, line %d", f.Path, number)
		token, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s, holds no token: %w", place, err)
		}
		found = append(found, placed{token, place})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s holds no token: only comments", f.Path)
	}
	return found, nil
}

func checkUnique(all []placed) error {
	for i, one := range all {
		for _, other := range all[:i] {
			switch {
			case one.token.Name == other.token.Name:
				return fmt.Errorf("%s and %s have the same name; each token needs one of its own", other.place, one.place)
			case bytes.Equal(one.token.Hash[:], other.token.Hash[:]):
				return fmt.Errorf("%s and %s have the same token; each name needs one of its own", other.place, one.place)
			}
		}
	}
	return nil
}

var errLine = errors.New("a line is NAME ROLE HASH, where HASH is what printf %s \"$TOKEN\" | sha256sum prints first")

const maxName = 64

// parseLine parses a line of a name, a role and a hash. No error quotes it: a misplaced field may be a token.
func parseLine(line string) (Token, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return Token{}, errLine
	}
	name, role := fields[0], fields[1]
	if !isName(name) {
		return Token{}, fmt.Errorf("a name has 1 to %d of the characters a-z, 0-9, dot, hyphen and underscore", maxName)
	}
	if role != Operator && role != Auditor {
		return Token{}, fmt.Errorf("the role must be %s or %s", Operator, Auditor)
	}
	hash, err := parseHash(fields[2])
	if err != nil {
		return Token{}, err
	}
	return Token{Name: name, Role: role, Hash: hash}, nil
}

func isName(name string) bool {
	unfit := func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c))
	}
	return len(name) <= maxName && !strings.ContainsFunc(name, unfit)
}

func parseHash(digits string) (hash [sha256.Size]byte, err error) {
	decoded, err := hex.DecodeString(digits)
	if err != nil || len(decoded) != len(hash) { // the error of hex quotes its input
		return hash, fmt.Errorf("the hash must be %d hex digits", 2*len(hash))
	}
	copy(hash[:], decoded)
	if hash == sha256.Sum256(nil) {
		return hash, errors.New("the hash is that of an empty token")
	}
	return hash, nil
}
