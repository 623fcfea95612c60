package signin_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/internal/providers/signin/openid"
	"github.com/recital-tts/recital/internal/standins"
)

func TestAPersonSignsIn(t *testing.T) {
	d := newDesk(t, development(t))
	begun := d.begin()
	asked, err := url.Parse(begun.Location)
	require.NoError(t, err)
	require.Equal(t, "S256", asked.Query().Get("code_challenge_method"))
	require.NotEmpty(t, asked.Query().Get("nonce"))
	require.ElementsMatch(t, []string{"openid", "email", "profile"}, strings.Fields(asked.Query().Get("scope")))

	answered, err := d.Finish(t.Context(), d.visit(begun, ""))
	require.NoError(t, err)
	require.Equal(t, "https://app.example.com/in?from=here", answered.Redirect)
	require.Equal(t, "letter", answered.UTMSource)
	subject := answered.Person.Subject
	require.NotEmpty(t, subject)
	require.Equal(t, signin.Person{
		Issuer: d.Providers["idp_1"].Issuer(), Subject: subject, Name: "Ada Lovelace", Email: "ada@example.com",
	}, answered.Person)

	t.Run("and the next time is the same person", func(t *testing.T) {
		again, err := d.Finish(t.Context(), d.visit(d.begin(), ""))
		require.NoError(t, err)
		require.Equal(t, answered.Person, again.Person)
	})
}

// After each kind of failure the browser returns to the redirect, with the reason.
func TestAFailedSignInHasAReason(t *testing.T) {
	d := newDesk(t, development(t))
	for fault, reason := range map[string]signin.Reason{
		"access_denied":    signin.AccessDenied,
		"server_error":     signin.ServerError,
		"no_name":          signin.NoProfile,
		"no_email":         signin.NoProfile,
		"email_unverified": signin.EmailUnverified,
		"other_user_info":  signin.InvalidAnswer,
		"other_issuer":     signin.InvalidAnswer,
		"used_code":        signin.InvalidAnswer,
		"token_error":      signin.Unavailable,
		"wrong_nonce":      signin.InvalidAnswer,
		"wrong_issuer":     signin.InvalidAnswer,
		"wrong_audience":   signin.InvalidAnswer,
		"wrong_party":      signin.InvalidAnswer,
		"expired":          signin.InvalidAnswer,
		"bad_signature":    signin.InvalidAnswer,
	} {
		t.Run(fault, func(t *testing.T) {
			answered, err := d.Finish(t.Context(), d.visit(d.begin(), fault))
			require.Error(t, err)
			require.Equal(t, reason, signin.ReasonOf(err), "%v", err)
			require.Equal(t, "https://app.example.com/in?from=here", answered.Redirect)
			require.Zero(t, answered.Person)
			require.NotContains(t, err.Error(), "ada")
		})
	}
	t.Run("wrong_state", func(t *testing.T) {
		answered, err := d.Finish(t.Context(), d.visit(d.begin(), "wrong_state"))
		require.ErrorIs(t, err, signin.ErrUnusable)
		require.Empty(t, answered.Redirect)
	})
}

func TestTheReasonIsAddedToTheRedirect(t *testing.T) {
	const reason = "error=access_denied&error_description=The+sign-in+was+cancelled+or+refused"
	for redirect, want := range map[string]string{
		"https://app.example.com/":           "https://app.example.com/?" + reason,
		"https://app.example.com/in?a=1#top": "https://app.example.com/in?a=1&" + reason + "#top",
		"https://app.example.com/?error=no":  "https://app.example.com/?" + reason,
	} {
		require.Equal(t, want, signin.WithReason(redirect, signin.AccessDenied))
	}
}

// Texts of a provider are not repeated.
func TestTextsOfAProviderAreNotRepeated(t *testing.T) {
	d := newDesk(t, development(t))
	answer := d.visit(d.begin(), "access_denied")
	answer.Error = "<script>alert(1)</script>"
	answered, err := d.Finish(t.Context(), answer)
	require.Equal(t, signin.ServerError, signin.ReasonOf(err))
	require.NotContains(t, signin.WithReason(answered.Redirect, signin.ReasonOf(err))+err.Error(), "alert")
}

func TestAStateExpires(t *testing.T) {
	d := newDesk(t, development(t))
	inTime, late := d.visit(d.begin(), ""), d.visit(d.begin(), "")
	d.advance(signin.Lifetime - time.Millisecond)
	_, err := d.Finish(t.Context(), inTime)
	require.NoError(t, err)
	d.advance(time.Millisecond)
	_, err = d.Finish(t.Context(), late)
	require.ErrorIs(t, err, signin.ErrUnusable)
}

// An attacker who makes another browser visit the callback with the attacker's code does not sign it in, since the
// state belongs to the attacker's browser.
func TestAStateBelongsToTheBrowserThatBeganTheSignIn(t *testing.T) {
	d := newDesk(t, development(t))
	answer := d.visit(d.begin(), "")
	own := answer.Kept
	for name, kept := range map[string]string{
		"of another sign-in": d.begin().Kept, "none": "", "garbage": "x", "changed": own[1:] + own[:1],
		"half": own[:len(own)/2],
	} {
		answer.Kept = kept
		_, err := d.Finish(t.Context(), answer)
		require.ErrorIs(t, err, signin.ErrUnusable, name)
	}
	answer.Kept = own
	_, err := d.Finish(t.Context(), answer)
	require.NoError(t, err)
	_, err = d.Finish(t.Context(), answer)
	require.Equal(t, signin.InvalidAnswer, signin.ReasonOf(err), "a provider accepts a code once")
}

// Instances share a key. With another key the state in browsers can be neither read nor made.
func TestTheStateInABrowserIsSealed(t *testing.T) {
	d := newDesk(t, development(t))
	answer := d.visit(d.begin(), "")
	stranger := *d.Flow
	stranger.Key = bytes.Repeat([]byte{9}, 32)
	_, err := stranger.Finish(t.Context(), answer)
	require.ErrorIs(t, err, signin.ErrUnusable)
	plain, err := base64.RawURLEncoding.DecodeString(answer.Kept)
	require.NoError(t, err)
	for _, told := range []string{"letter", "app.example.com", answer.State} {
		require.NotContains(t, string(plain), told)
	}
	another := *d.Flow
	_, err = another.Finish(t.Context(), answer)
	require.NoError(t, err)
}

// Browsers drop cookies of more than 4096 bytes.
func TestTheLongestRedirectFits(t *testing.T) {
	d := newDesk(t, development(t))
	longest := "https://app.example.com/in?q=" + strings.Repeat("&",
		signin.MaxRedirect-len("https://app.example.com/in?q="))
	begun := d.begin(func(b *signin.Beginning) { b.Redirect, b.UTMSource = longest, strings.Repeat("\U0001F600", 256) })
	require.Less(t, len(begun.Kept), 4000)
	answered, err := d.Finish(t.Context(), d.visit(begun, ""))
	require.NoError(t, err)
	require.Equal(t, longest, answered.Redirect)
	require.Empty(t, answered.UTMSource, "there was no room for it")

	b := beginning()
	// Each of these takes 6 bytes in the redirect of the browser.
	b.Redirect = "https://app.example.com/" + strings.Repeat("ü", 1000)
	_, err = d.Begin(t.Context(), b)
	require.ErrorIs(t, err, signin.ErrRedirect)
}

// An answer of one provider is not accepted for another (RFC 9700, 4.4).
func TestTheAnswerComesFromTheProviderThatWasAsked(t *testing.T) {
	d := newDesk(t, development(t))
	answer := d.visit(d.begin(), "")
	answer.Provider = "idp_2"
	_, err := d.Finish(t.Context(), answer)
	require.ErrorIs(t, err, signin.ErrUnusable)
}

// A provider that identifies itself in each answer (RFC 9207) also does so in refusals; an answer without this may come
// from another provider.
func TestAnswersNameTheirIssuerIfAnnounced(t *testing.T) {
	d := newDesk(t, development(t))
	for _, fault := range []string{"", "access_denied"} {
		answer := d.visit(d.begin(), fault)
		require.NotEmpty(t, answer.Issuer)
		answer.Issuer = ""
		answered, err := d.Finish(t.Context(), answer)
		require.Equal(t, signin.InvalidAnswer, signin.ReasonOf(err), "%q: %v", fault, err)
		require.Equal(t, "https://app.example.com/in?from=here", answered.Redirect)
	}
}

// A stolen code is useless without the verifier of its sign-in.
func TestACodeBelongsToItsSignIn(t *testing.T) {
	d := newDesk(t, development(t))
	stolen := d.visit(d.begin(), "").Code
	own := d.visit(d.begin(), "")
	own.Code = stolen
	_, err := d.Finish(t.Context(), own)
	require.Equal(t, signin.InvalidAnswer, signin.ReasonOf(err))
}

func TestAProviderThatIsAway(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	d := newDesk(t, map[string]signin.Provider{
		"idp_1": relyingParty(t, openid.Config{Issuer: gone.URL, ClientID: "recital", ClientSecret: "secret"}),
	})
	_, err := d.Begin(t.Context(), beginning())
	require.Equal(t, signin.Unavailable, signin.ReasonOf(err))
	b := beginning()
	b.Provider = "idp_2"
	_, err = d.Begin(t.Context(), b)
	require.ErrorIs(t, err, signin.ErrNoProvider)
}

func TestTheProviderForDevelopmentServesLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		_, err := standins.Listen(address)
		require.Error(t, err, address)
	}
	ln, err := standins.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	other, err := standins.Listen(ln.Addr().String())
	require.NoError(t, err, "it uses another port if this one is taken")
	require.NoError(t, other.Close())
}

// The provider for development sends codes only to Recital.
func TestTheProviderForDevelopmentKnowsItsClient(t *testing.T) {
	d := newDesk(t, development(t))
	for name, change := range map[string]func(url.Values){
		"another place":     func(q url.Values) { q.Set("redirect_uri", "https://evil.example/auth/oauth/idp_1") },
		"another path":      func(q url.Values) { q.Set("redirect_uri", client+"/elsewhere") },
		"another client":    func(q url.Values) { q.Set("client_id", "other") },
		"no PKCE":           func(q url.Values) { q.Del("code_challenge") },
		"PKCE in clear":     func(q url.Values) { q.Set("code_challenge_method", "plain") },
		"the implicit flow": func(q url.Values) { q.Set("response_type", "token") },
	} {
		page, err := url.Parse(d.begin().Location)
		require.NoError(t, err)
		query := page.Query()
		change(query)
		page.RawQuery = query.Encode()
		response, err := d.browser.PostForm(page.String(), url.Values{"name": {"Ada"}, "email": {"ada@example.com"}})
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusBadRequest, response.StatusCode, name)
	}
}
