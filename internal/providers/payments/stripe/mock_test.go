package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spy is a test that counts its errors.
type spy struct {
	testing.TB
	mu     sync.Mutex
	errors int
}

func (s *spy) Errorf(string, ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors++
}

func (s *spy) noted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errors
}

// stripe-mock must refuse wrong requests, or the check would prove nothing. It does not check expansions or elements of
// lists; the library's types and the sandbox do that.
func TestStripeMockRefusesInvalidRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		method, path, body string
		wrong              int
	}{
		{"POST", "/v1/customers", "metadata[account]=1", 0},
		{"POST", "/v1/customers", "colour=red", 1},
		{"POST", "/v1/subscriptions", "items[0][price]=price_1&customer=cus_1", 0},
		{"POST", "/v1/subscriptions", "items[0][price]=price_1", 1},
		{"POST", "/v1/subscriptions/sub_1", "proration_behavior=sometimes", 1},
		{"GET", "/v1/subscriptions/sub_1?expand[]=latest_invoice.confirmation_secret&expand[]=discounts.source.coupon", "",
			0},
		{"GET", "/v1/subscriptions/sub_1?colour=red", "", 1},
		{"GET", "/v1/invoices?expand[]=data.payments", "", 0},
		{"GET", "/v1/colours", "", 1},
	} {
		watched := &spy{TB: t}
		request, err := http.NewRequestWithContext(t.Context(), c.method, mock.Checked(watched, server.URL)+c.path,
			strings.NewReader(c.body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer sk_test_1")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, c.wrong, watched.noted(), "%s %s %s", c.method, c.path, c.body)
	}
	http.DefaultClient.CloseIdleConnections()
}
