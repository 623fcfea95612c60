package signin_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// exchanges is the number of HTTP requests of a sign-in: the login page, the token and the user info.
const exchanges = 3

// BenchmarkSignIn compares a complete sign-in at the provider for development with as many bare requests.
func BenchmarkSignIn(b *testing.B) {
	d := newDesk(b, development(b))
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write([]byte("{}"))
	}))
	b.Cleanup(bare.Close)
	var ours, its time.Duration
	for b.Loop() {
		began := time.Now()
		_, err := d.Finish(b.Context(), d.visit(d.begin(), ""))
		require.NoError(b, err)
		ours += time.Since(began)
		began = time.Now()
		for range exchanges {
			response, err := d.browser.Get(bare.URL)
			require.NoError(b, err)
			require.NoError(b, response.Body.Close())
		}
		its += time.Since(began)
	}
	milliseconds := func(sum time.Duration) float64 { return float64(sum.Microseconds()) / 1000 / float64(b.N) }
	benchtest.Compare(b, "ms/sign-in", milliseconds(ours), milliseconds(its))
	benchtest.Finish(b)
}
