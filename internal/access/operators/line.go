package operators

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

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
