package bind

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzURL checks that a normalised URL is unambiguous: net/url parses it with the same host, and normalising it again
// does not change it. The check of a redirect's host depends on that.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"http://a", `http:\\a\@b`, "https://u:p@[::1]:80/x?y#z", " HTTP:a..b ", "http://ä.de",
		"http://1.2.3.4/", "http://a%2eb", "http://%5b::1%5d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal, wrong := httpURL(text)
		if wrong != nil {
			require.Contains(t, []string{"url_parsing", "url_scheme"}, wrong.kind)
			return
		}
		require.True(t, strings.HasPrefix(normal, "http://") || strings.HasPrefix(normal, "https://"), normal)
		again, wrong := httpURL(normal)
		require.Nil(t, wrong, "%q from %q", normal, text)
		require.Equal(t, normal, again)
		parsed, err := url.Parse(normal)
		if err != nil {
			return // such as a bad escape in the path, which every parser refuses
		}
		authority := normal[strings.Index(normal, "://")+3:]
		authority = authority[:strings.IndexAny(authority, "/?#")]
		require.Equal(t, authority[strings.LastIndexByte(authority, '@')+1:], parsed.Host)
	})
}
