// Package platformtest opens a hosting platform whose requests a test can make fail.
package platformtest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/standins/hostingplatform"
)

// Platform is a hosting platform behind a proxy that applies the faults.
type Platform struct {
	*hostingplatform.Platform
	front *httptest.Server
	proxy http.Handler

	mu     sync.Mutex
	faults []Fault
}

// Fault makes a request of a method fail. With Done it takes effect nevertheless.
type Fault struct {
	Method     string // "" for any
	Status     int    // 0: the connection is cut
	RetryAfter int    // seconds; 0: the response has no such header
	Done       bool
}

// Open starts a platform, which ends with the test.
func Open(t testing.TB, conf hostingplatform.Config) *Platform {
	t.Helper()
	platform, err := hostingplatform.Open(conf)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, platform.Close()) })
	target, err := url.Parse(platform.URL())
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{} // end-to-end tests replace the default one by one that checks recitald's replies
	p := &Platform{Platform: platform, proxy: proxy}
	p.front = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.front.Close)
	return p
}

// URL returns the address of the proxy.
func (p *Platform) URL() string { return p.front.URL }

// Fail makes the next requests fail, one for each fault.
func (p *Platform) Fail(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, faults...)
}

// Mend removes all faults.
func (p *Platform) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

func (p *Platform) serve(w http.ResponseWriter, r *http.Request) {
	fault, fails := p.fault(r.Method)
	if !fails {
		p.proxy.ServeHTTP(w, r)
		return
	}
	if fault.Done {
		p.proxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	if fault.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	if fault.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
	}
	hostingplatform.Refuse(w, fault.Status, "fault")
}

func (p *Platform) fault(method string) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.faults, func(f Fault) bool { return f.Method == "" || f.Method == method })
	if i < 0 {
		return Fault{}, false
	}
	fault := p.faults[i]
	p.faults = slices.Delete(p.faults, i, i+1)
	return fault, true
}
