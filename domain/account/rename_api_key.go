package account

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/domain"
)

// MaxKeyName is the maximum length of a key's name, in Unicode code points.
const MaxKeyName = 200

// visible reports whether a text has a visible character: not only blanks and characters without a width.
func visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsPrint(r) &&
			!unicode.In(r, unicode.White_Space, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point)
	})
}

var errKeyName = domain.Refuse(domain.Invalid, fmt.Sprintf("The name of an API key has 1 to %d characters, none of "+
	"which is a control character and one of which can be seen", MaxKeyName))

// ValidKeyName reports whether a text is a valid name of a key.
func ValidKeyName(name string) bool {
	length := utf8.RuneCountInString(name)
	return length >= 1 && length <= MaxKeyName && utf8.ValidString(name) && visible(name) &&
		!slices.ContainsFunc([]rune(name), unicode.IsControl)
}

// RenameAPIKey gives a key another name. Names need not be unique.
type RenameAPIKey struct {
	Masked     string
	Name       string
	SealedName []byte // see APIKeyRenamed; unchanged if the key already has this name
	At         time.Time
}

// Decide refuses an invalid name, and an unknown masked form.
func (c RenameAPIKey) Decide(s State) ([]Event, error) {
	if !ValidKeyName(c.Name) {
		return nil, errKeyName
	}
	key, err := s.Key(c.Masked)
	if err != nil || bytes.Equal(key.SealedName, c.SealedName) {
		return nil, err
	}
	return []Event{APIKeyRenamed{Account: s.Account, Hash: key.Hash, Masked: c.Masked, SealedName: c.SealedName,
		At: c.At}}, nil
}
