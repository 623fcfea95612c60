package signin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/signin"
)

const home = "https://api.example.com/auth/oauth/idp_1"

func origins(t testing.TB) signin.Origins {
	t.Helper()
	o, err := signin.ParseOrigins([]string{
		"https://app.example.com", "http://localhost:3000/", "https://bücher.example", "https://[2001:db8::1]:8443",
	})
	require.NoError(t, err)
	return o
}

func TestRedirectsToAllowedOrigins(t *testing.T) {
	for redirect, admitted := range map[string]string{
		"https://app.example.com":                        "https://app.example.com",
		"https://app.example.com/":                       "https://app.example.com/",
		"https://app.example.com:443/in?a=b&c=%20#top":   "https://app.example.com:443/in?a=b&c=%20#top",
		"HTTPS://APP.EXAMPLE.COM/In":                     "https://APP.EXAMPLE.COM/In",
		"http://localhost:3000/back":                     "http://localhost:3000/back",
		"https://xn--bcher-kva.example/":                 "https://xn--bcher-kva.example/",
		"https://[2001:db8::1]:8443/":                    "https://[2001:db8::1]:8443/",
		"https://api.example.com/docs":                   "https://api.example.com/docs", // Recital's own
		"https://app.example.com/?next=https://evil.com": "https://app.example.com/?next=https://evil.com",
	} {
		got, ok := origins(t).Admit(redirect, home)
		require.True(t, ok, redirect)
		require.Equal(t, admitted, got)
	}
}

// hostile are redirects that must be refused, with tricks of each kind.
var hostile = []string{
	// another origin
	"https://evil.example", "https://evil.example/app.example.com", "https://evil.example?app.example.com",
	"https://evil.example#app.example.com",
	"https://app.example.com.evil.example/", "https://evilapp.example.com/", "https://sub.app.example.com/",
	"https://example.com/", "https://app.example.co",
	"https://app.example.comm/", "https://appxexample.com/", "https://app-example.com/", "https://app.example.com./",
	// another scheme or port
	"http://app.example.com/", "http://app.example.com:443/", "https://app.example.com:8443/",
	"https://app.example.com:80/", "https://localhost:3000/",
	"http://localhost/", "http://localhost:3001/", "ftp://app.example.com/", "javascript:alert(1)",
	"javascript://app.example.com/%0aalert(1)",
	"data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)", "file:///etc/passwd", "about:blank",
	"blob:https://app.example.com/1",
	"mailto:a@app.example.com", "https:app.example.com", "https:/app.example.com", "https:///app.example.com",
	"https:////evil.example",
	// no scheme
	"//evil.example", "//app.example.com", "///evil.example", "/\\evil.example", "\\\\evil.example", "/in", "in", "?in",
	"#in", "app.example.com", "",
	// users and passwords
	"https://app.example.com@evil.example/", "https://app.example.com:pass@evil.example/",
	"https://user@app.example.com/", "https://:@app.example.com/",
	"https://app.example.com%40evil.example/", "https://evil.example%40app.example.com/",
	"https://a:b@app.example.com:443/", "https://@app.example.com/",
	// characters that parsers interpret differently
	"https://evil.example\\@app.example.com/", "https://evil.example\\.app.example.com/",
	"https://app.example.com\\.evil.example/", "https:\\\\app.example.com",
	"https://app.example.com\\", "https://app.example.com/\\..\\", "https://app.example.com\t.evil.example",
	"https://app.example.com\n.evil.example/",
	"https://app.example.com\r\nSet-Cookie: a=b", " https://app.example.com/", "https://app.example.com/ ",
	"https://app.example.com\x00.evil.example/",
	"https://app.example.com\x7f/", "https://app.exam\u00adple.com.evil.example/",
	"https://app。example。com.evil.example/", "https://evil.example／.app.example.com/",
	"https://app.example.com%00.evil.example/", "https://app.example.com%2f.evil.example/",
	"https://app.example.com%5c.evil.example/", "https://app%2eexample%2ecom.evil/",
	"https://app.example.com;evil.example/", "https://app.example.com,evil.example/",
	"https://evil.example#@app.example.com/", "https://evil.example?@app.example.com/",
	// look-alikes
	"https://аpp.example.com/", "https://app.examp1e.com/", "https://xn--pp-6kc.example.com/", "https://ɑpp.example.com/",
	// addresses
	"https://[::1]/", "https://[2001:db8::1]/", "https://[2001:db8::1%25eth0]:8443/", "https://2130706433/",
	"https://0x7f.1/", "https://127.1:3000/", "http://127.0.0.1:3000/",
	"https://[app.example.com]/", "https://app.example.com:443:443/", "https://app.example.com:x/",
	"https://app.example.com:-443/",
	"https://app.example.com:99999999999/", "https://:443/", "https://%zz/",
}

func TestHostileRedirectsAreRefused(t *testing.T) {
	require.Greater(t, len(hostile), 40)
	for _, redirect := range append(hostile, "https://app.example.com/"+strings.Repeat("a", 2083)) {
		got, ok := origins(t).Admit(redirect, home)
		require.False(t, ok, "%q leads to %q", redirect, got)
		require.Empty(t, got)
	}
}

// Any admitted redirect leads to an allowed host according to an independent parser of URLs.
func FuzzAdmit(f *testing.F) {
	for _, redirect := range hostile {
		f.Add(redirect)
	}
	f.Add("https://app.example.com/in?a=b#c")
	allowed, err := signin.ParseOrigins([]string{"https://app.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, redirect string) {
		got, ok := allowed.Admit(redirect, "")
		if !ok {
			return
		}
		u, err := url.Parse(got)
		require.NoError(t, err)
		rest, found := strings.CutPrefix(strings.ToLower(got), "https://app.example.com")
		rest = strings.TrimPrefix(rest, ":443")
		require.True(t, found && (rest == "" || strings.ContainsRune("/?#", rune(rest[0]))), "%q became %q", redirect, got)
		require.Nil(t, u.User)
		require.False(t, strings.ContainsFunc(got, func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }),
			"%q became %q", redirect, got)
	})
}

func TestInvalidOrigins(t *testing.T) {
	for _, text := range []string{
		"", "app.example.com", "*", "https://*", "null", "https://", "https://app.example.com/path",
		"https://app.example.com?a", "https://app.example.com#a",
		"https://user@app.example.com", "ftp://app.example.com", "https:app.example.com", "https://app.example.com:x",
	} {
		_, err := signin.ParseOrigins([]string{text})
		require.Error(t, err, text)
	}
}

func TestOriginsAreComparedAsBrowsersWriteThem(t *testing.T) {
	allowed, err := signin.ParseOrigins([]string{
		"https://app.example", "https://APP.example:443/", "http://localhost:80", "http://127.0.0.1:3000",
		"https://[2001:db8::1]:8443", "http://[::1]:80",
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"http://127.0.0.1:3000", "http://[::1]", "http://localhost", "https://[2001:db8::1]:8443", "https://app.example",
	}, allowed.Serialized())
	require.Equal(t, "https://api.example", signin.SerializedOrigin("https://api.example/path"))
	require.Empty(t, signin.SerializedOrigin("api.example"))
}

func TestPagesOfOneSite(t *testing.T) {
	const api = "https://api.example.co.uk/auth/oauth/idp_1"
	for other, same := range map[string]bool{
		"https://app.example.co.uk:8443/in": true, "https://example.co.uk": true, "HTTPS://APP.Example.co.uk./": false,
		"http://app.example.co.uk": false, "https://other.co.uk": false, "https://co.uk": false,
		"https://notexample.co.uk": false, "": false, "about:blank": false,
	} {
		require.Equal(t, same, signin.SameSite(api, other), other)
	}
	for _, pair := range [][2]string{
		{"http://127.0.0.1:8080", "http://localhost:8080"}, {"http://127.0.0.1", "http://127.0.0.2"},
		{"http://10.0.0.1", "http://9.0.0.1"},
		{"http://[::1]", "http://127.0.0.1"}, {"https://a.github.io", "https://b.github.io"}, {"", ""},
	} {
		require.False(t, signin.SameSite(pair[0], pair[1]), pair)
		require.Equal(t, pair[0] != "", signin.SameSite(pair[0], pair[0]+"/x"), pair)
	}
}
