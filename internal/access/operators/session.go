package operators

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
)

// SessionLength is the length of an operator's browser session.
const SessionLength = time.Hour

// Sessions makes and checks the cookies of the browsers of operators and auditors. A cookie contains a token's holder
// and its own expiry, and is authenticated with a key that all instances share. Each instance accepts it, also after a
// restart, without a list. It is invalid once its token has been withdrawn or replaced.
type Sessions struct {
	key    []byte
	tokens []Token
}

// NewSessions returns the sessions of the holders of tokens.
func NewSessions(key []byte, tokens []Token) *Sessions { return &Sessions{key, tokens} }

// Session is the session of a cookie.
type Session struct {
	Token   Token // of the holder
	Expires time.Time
}

// Begin returns the cookie of a session of a token's holder that begins now, and false for an unknown holder.
func (s *Sessions) Begin(holder string, now time.Time) (cookie string, expires time.Time, known bool) {
	token, known := s.tokenOf(holder)
	if !known {
		return "", time.Time{}, false
	}
	expires = now.Add(SessionLength).Truncate(time.Second)
	end := strconv.FormatInt(expires.Unix(), 10)
	return strings.Join([]string{holder, end, s.authenticate(token, end)}, separator), expires, true
}

// Find returns the session of a cookie, or false if it has ended or was never begun.
func (s *Sessions) Find(cookie string, now time.Time) (Session, bool) {
	fields := strings.Split(cookie, separator)
	if len(fields) != 3 {
		return Session{}, false
	}
	token, known := s.tokenOf(fields[0])
	if !known || !hmac.Equal([]byte(s.authenticate(token, fields[1])), []byte(fields[2])) {
		return Session{}, false
	}
	end, err := strconv.ParseInt(fields[1], 10, 64)
	expires := time.Unix(end, 0)
	return Session{token, expires}, err == nil && now.Before(expires)
}

// separator does not occur in names.
const separator = "~"

func (s *Sessions) tokenOf(holder string) (Token, bool) {
	return domain.First(s.tokens, func(t Token) bool { return t.Name == holder })
}

func (s *Sessions) authenticate(of Token, end string) string {
	code := hmac.New(sha256.New, s.key)
	fmt.Fprintf(code, "%s\n%s\n%x\n%s", of.Name, of.Role, of.Hash, end)
	return base64.RawURLEncoding.EncodeToString(code.Sum(nil))
}
