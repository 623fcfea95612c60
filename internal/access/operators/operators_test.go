package operators_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
)

// secret returns a token of sufficient length.
func secret(letter string) string { return strings.Repeat(letter, 64) }

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func named(name, role, token string) operators.Token {
	return operators.Token{Name: name, Role: role, Hash: sha256.Sum256([]byte(token))}
}

// parse parses the two files of a recitald.
func parse(operator, auditor string) ([]operators.Token, error) {
	return operators.Parse(
		operators.File{Path: "/run/operator-token", Role: operators.Operator, Text: operator},
		operators.File{Path: "/run/auditor-token", Role: operators.Auditor, Text: auditor},
	)
}

func TestTokensOfTwoFiles(t *testing.T) {
	ada, bob := "ada operator "+hash(secret("a")), "bob.s-2_x auditor "+hash(secret("b"))
	for name, c := range map[string]struct {
		operator, auditor string
		want              []operators.Token
	}{
		"a token in each": {
			secret("a") + "\n", secret("b"),
			[]operators.Token{named("operator", "operator", secret("a")), named("auditor", "auditor", secret("b"))},
		},
		"a token that looks like a comment": {
			"#" + secret("a"), secret("b"),
			[]operators.Token{named("operator", "operator", "#"+secret("a")), named("auditor", "auditor", secret("b"))},
		},
		"lines": {
			"# who may change things\n\n" + ada + "\n\t" + bob + "  \r\n", secret("c"),
			[]operators.Token{named("ada", "operator", secret("a")), named("bob.s-2_x", "auditor", secret("b")),
				named("auditor", "auditor", secret("c"))},
		},
		"one line in each, without an end": {
			ada, bob,
			[]operators.Token{named("ada", "operator", secret("a")), named("bob.s-2_x", "auditor", secret("b"))},
		},
		"capital digits": {
			"ada operator " + strings.ToUpper(hash(secret("a"))), bob,
			[]operators.Token{named("ada", "operator", secret("a")), named("bob.s-2_x", "auditor", secret("b"))},
		},
		"the longest name": {
			strings.Repeat("n", 64) + " operator " + hash(secret("a")), bob,
			[]operators.Token{named(strings.Repeat("n", 64), "operator", secret("a")),
				named("bob.s-2_x", "auditor", secret("b"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.operator, c.auditor)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestInvalidFilesOfTokensAreRefused(t *testing.T) {
	ada := "ada operator " + hash(secret("a"))
	for name, c := range map[string]struct {
		operator, auditor string
		says              []string
	}{
		"an empty file": {"", secret("b"), []string{"operator-token holds no token", "32 characters",
			"delete it, and the next start makes a new one"}},
		"a blank line":  {" \n", secret("b"), []string{"operator-token holds no token"}},
		"a short token": {"secret", secret("b"), []string{"operator-token holds no token", "openssl rand"}},
		"two tokens": {secret("a") + "\n" + secret("c"), secret("b"),
			[]string{"operator-token, line 1, holds no token", "NAME ROLE HASH", "sha256sum"}},
		"a character that no header may have": {secret("ä"), secret("b"), []string{"holds no token"}},
		"comments only": {"# nobody\n# at all\n", secret("b"),
			[]string{"operator-token holds no token: only comments"}},
		"a token for both": {secret("a"), secret("a") + "\n",
			[]string{"operator-token and /run/auditor-token have the same token"}},
		"a hash of the other token": {ada, secret("a"),
			[]string{"operator-token, line 1 and /run/auditor-token have the same token"}},
		"a name twice": {ada + "\n# and\nada auditor " + hash(secret("c")), secret("b"),
			[]string{"line 1 and", "line 3 have the same name"}},
		"a name in both files": {ada, "ada auditor " + hash(secret("c")),
			[]string{"operator-token, line 1 and /run/auditor-token, line 1 have the same name"}},
		"a name that is a file's role": {"auditor operator " + hash(secret("a")), secret("c"), []string{"the same name"}},
		"a comment after the hash":     {ada + " # hers", secret("b"), []string{"line 1", "NAME ROLE HASH"}},
		"the whole line of sha256sum":  {ada + "  -", secret("b"), []string{"line 1", "NAME ROLE HASH"}},
		"another role": {"ada root " + hash(secret("a")), secret("b"),
			[]string{"line 1", "the role must be operator or auditor"}},
		"a capital name": {"Ada operator " + hash(secret("a")), secret("b"), []string{"line 1", "a name has"}},
		"a name that is too long": {strings.Repeat("n", 65) + " operator " + hash(secret("a")), secret("b"),
			[]string{"1 to 64"}},
		"the token itself":          {"\nada operator " + secret("a")[:40], secret("b"), []string{"line 2", "64 hex digits"}},
		"a hash that is not hex":    {"ada operator " + strings.Repeat("x", 64), secret("b"), []string{"64 hex digits"}},
		"the hash of nothing":       {"ada operator " + hash(""), secret("b"), []string{"line 1", "an empty token"}},
		"a second file that is bad": {ada, "bob auditor", []string{"auditor-token, line 1", "NAME ROLE HASH"}},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, err := parse(c.operator, c.auditor)
			require.Error(t, err)
			require.Empty(t, tokens)
			for _, part := range c.says {
				assert.ErrorContains(t, err, part)
			}
			for _, hidden := range []string{"aaaa", "xxxx", hash(secret("a"))[:8], hash(secret("c"))[:8], "secret"} {
				assert.NotContains(t, err.Error(), hidden)
			}
		})
	}
}

// Any two files result in distinguishable tokens, or in an error that does not quote them.
func FuzzParse(f *testing.F) {
	f.Add(secret("a"), secret("b"))
	f.Add("# people\nada operator "+hash(secret("a")), "bob auditor "+hash(secret("b"))+"\n")
	f.Add("ada operator\n", "\x00")
	f.Add("ada operator "+hash(""), "ada\u00a0operator\u0085x")
	f.Fuzz(func(t *testing.T, operator, auditor string) {
		tokens, err := parse(operator, auditor)
		if err != nil {
			require.Empty(t, tokens)
			words := strings.Fields(operator + "\n" + auditor)
			for _, word := range words {
				// shorter words may occur in the message
				require.False(t, len(word) >= 24 && strings.Contains(err.Error(), word), "%q is quoted", word)
			}
			return
		}
		require.GreaterOrEqual(t, len(tokens), 2)
		names, hashes := map[string]bool{}, map[[32]byte]bool{}
		for _, token := range tokens {
			require.Regexp(t, `^[a-z0-9._-]{1,64}$`, token.Name)
			require.Contains(t, []string{"operator", "auditor"}, token.Role)
			require.NotEqual(t, sha256.Sum256(nil), token.Hash, "no token is the empty string")
			require.False(t, names[token.Name] || hashes[token.Hash])
			names[token.Name], hashes[token.Hash] = true, true
		}
	})
}
