package operators_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
)

var (
	sessionKey = bytes.Repeat([]byte{1}, 32)
	ada        = named("ada", operators.Operator, secret("a"))
	grace      = named("grace", operators.Auditor, secret("b"))
	noon       = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
)

func begin(t testing.TB, holder string) string {
	t.Helper()
	cookie, expires, known := operators.NewSessions(sessionKey, []operators.Token{ada, grace}).Begin(holder, noon)
	require.True(t, known)
	require.Equal(t, noon.Add(time.Hour), expires)
	return cookie
}

func TestACookieIdentifiesItsHolderForAnHour(t *testing.T) {
	cookie := begin(t, "ada")
	name, rest, _ := strings.Cut(cookie, "~")
	end, code, _ := strings.Cut(rest, "~")
	of := func(tokens ...operators.Token) *operators.Sessions { return operators.NewSessions(sessionKey, tokens) }
	for title, c := range map[string]struct {
		sessions *operators.Sessions
		cookie   string
		at       time.Time
		accepted bool
	}{
		"at once":                     {of(ada, grace), cookie, noon, true},
		"on another instance":         {of(grace, ada), cookie, noon, true},
		"in its last second":          {of(ada), cookie, noon.Add(time.Hour - 1), true},
		"after its hour":              {of(ada), cookie, noon.Add(time.Hour), false},
		"its token is withdrawn":      {of(grace), cookie, noon, false},
		"its token is replaced":       {of(named("ada", "operator", secret("c"))), cookie, noon, false},
		"its holder has another role": {of(named("ada", "auditor", secret("a"))), cookie, noon, false},
		"another key":                 {operators.NewSessions(make([]byte, 32), []operators.Token{ada}), cookie, noon, false},
		"a later end":                 {of(ada), name + "~" + "9" + end + "~" + code, noon, false},
		"an end with a sign":          {of(ada), name + "~+" + end + "~" + code, noon, false},
		"another name":                {of(ada, grace), "grace~" + end + "~" + code, noon, false},
		"without a code":              {of(ada), name + "~" + end + "~", noon, false},
		"a code that is cut":          {of(ada), cookie[:len(cookie)-1], noon, false},
		"one field more":              {of(ada), cookie + "~", noon, false},
		"nothing":                     {of(ada), "", noon, false},
		"the token":                   {of(ada), secret("a"), noon, false},
	} {
		t.Run(title, func(t *testing.T) {
			found, accepted := c.sessions.Find(c.cookie, c.at)
			require.Equal(t, c.accepted, accepted)
			if accepted {
				require.Equal(t, operators.Session{Token: ada, Expires: noon.Add(time.Hour).Local()}, found)
			}
		})
	}
	require.NotContains(t, cookie, secret("a")[:8])
	_, _, known := of(ada).Begin("nobody", noon)
	require.False(t, known)
}

// Only cookies that Begin has made are accepted.
func FuzzFind(f *testing.F) {
	good := begin(f, "grace")
	f.Add(good)
	f.Add("grace~1893589200~")
	f.Add("~~")
	f.Fuzz(func(t *testing.T, cookie string) {
		_, accepted := operators.NewSessions(sessionKey, []operators.Token{ada, grace}).Find(cookie, noon)
		require.Equal(t, cookie == good || cookie == begin(t, "ada"), accepted)
	})
}
