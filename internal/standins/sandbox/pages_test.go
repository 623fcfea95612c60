package sandbox_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// person views pages like a browser.
type person struct {
	t    *testing.T
	http *http.Client
}

func newPerson(t *testing.T) *person {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &person{t: t, http: client}
}

// seen is a page.
type seen struct {
	status int
	header http.Header
	body   string
}

// says reports whether the page has an element with an id.
func (s seen) says(id string) bool { return strings.Contains(s.body, ` id="`+id+`"`) }

// text returns the text of an element.
func (s seen) text(id string) string {
	found := regexp.MustCompile(` id="` + id + `"[^>]*>([^<]*)<`).FindStringSubmatch(s.body)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

func (p *person) get(address string) seen {
	p.t.Helper()
	response, err := p.http.Get(address)
	return p.read(response, err)
}

// submit sends the form of a page, and follows redirects.
func (p *person) submit(address string, fields ...string) seen {
	p.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	response, err := p.http.PostForm(address, form)
	return p.read(response, err)
}

func (p *person) read(response *http.Response, err error) seen {
	p.t.Helper()
	require.NoError(p.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return seen{response.StatusCode, response.Header, string(body)}
}

// incomplete returns a subscription that waits for its first payment, and the page for paying it.
func incomplete(t *testing.T, s *shop) (customer string, id string, page string) {
	t.Helper()
	c, err := s.api.V1Customers.Create(t.Context(),
		&stripe.CustomerCreateParams{Metadata: map[string]string{"account": "<account-1>"}})
	require.NoError(t, err)
	sub := s.subscribe(c.ID, sandbox.PriceOf("indie"))
	return c.ID, sub.ID, s.CardPage(sub.LatestInvoice.ConfirmationSecret.ClientSecret)
}

func TestAPersonPaysOnAPage(t *testing.T) {
	s, p := open(t), newPerson(t)
	_, subscription, page := incomplete(t, s)

	first := p.get(page)
	assert.Equal(t, http.StatusOK, first.status)
	assert.Equal(t, "10.00 USD", first.text("amount"))
	assert.True(t, first.says("number"))
	assert.Contains(t, first.body, "4242 4242 4242 4242", "the page lists the test cards")
	policy := first.header.Get("Content-Security-Policy")
	assert.Contains(t, policy, "default-src 'none'", "nothing from elsewhere")
	assert.Contains(t, policy, "frame-ancestors 'none'")
	assert.NotContains(t, first.body, "<script")
	assert.Equal(t, "no-store", first.header.Get("Cache-Control"))
	assert.Equal(t, "no-referrer", first.header.Get("Referrer-Policy"), "the address is a secret")

	unknown := p.submit(page, "number", "1234")
	assert.Equal(t, http.StatusPaymentRequired, unknown.status)
	assert.Equal(t, "Your card number is incorrect.", unknown.text("refusal"))

	declined := p.submit(page, "number", "4000 0000 0000 0002")
	assert.Equal(t, "Your card was declined.", declined.text("refusal"))
	assert.True(t, declined.says("number"), "another card can be tried")
	assert.Equal(t, stripe.SubscriptionStatusIncomplete, s.reload(subscription).Status)

	asked := p.submit(page, "number", "4000 0025 0000 3155")
	assert.True(t, asked.says("approve"))
	assert.False(t, asked.says("number"))
	assert.Equal(t, stripe.SubscriptionStatusIncomplete, s.reload(subscription).Status)
	refused := p.submit(page, "answer", "refuse")
	assert.NotEmpty(t, refused.text("refusal"))
	assert.Equal(t, stripe.SubscriptionStatusIncomplete, s.reload(subscription).Status)

	require.True(t, p.submit(page, "number", "4000002500003155").says("approve"))
	done := p.submit(page, "answer", "approve")
	assert.Equal(t, http.StatusOK, done.status)
	assert.True(t, done.says("done"))
	assert.Equal(t, stripe.SubscriptionStatusActive, s.reload(subscription).Status)

	again := p.submit(page, "number", "4242424242424242")
	assert.NotEqual(t, http.StatusOK, again.status, "it is not paid twice")
	assert.True(t, p.get(page).says("done"))
	charges := 0
	for c, err := range s.api.V1Charges.List(t.Context(), nil) {
		require.NoError(t, err)
		if c.Paid {
			charges++
		}
	}
	assert.Equal(t, 1, charges)
}

func TestAPersonRegistersACardOnAPage(t *testing.T) {
	s, p := open(t), newPerson(t)
	c, err := s.api.V1Customers.Create(t.Context(), nil)
	require.NoError(t, err)
	setup, err := s.api.V1SetupIntents.Create(t.Context(), &stripe.SetupIntentCreateParams{Customer: &c.ID})
	require.NoError(t, err)
	page := s.CardPage(setup.ClientSecret)
	assert.False(t, p.get(page).says("amount"), "nothing is paid")
	assert.Equal(t, "Your card was declined.", p.submit(page, "number", "4000000000000002").text("refusal"))
	assert.True(t, p.submit(page, "number", "5555 5555 5555 4444").says("done"))
	setup, err = s.api.V1SetupIntents.Retrieve(t.Context(), setup.ID, nil)
	require.NoError(t, err)
	assert.Equal(t, stripe.SetupIntentStatusSucceeded, setup.Status)
	done := p.get(page)
	assert.Equal(t, setup.PaymentMethod.ID, done.text("payment-method"))
	assert.NotContains(t, done.body, "<script", "it notifies no opener")
	assert.NotContains(t, p.get(page+"?opener=javascript:alert(1)").body, "<script")
	told := p.get(page + "?opener=" + url.QueryEscape("https://app.example/cards?a=b")).body
	assert.Contains(t, told, ` data-opener="https://app.example" `)
	assert.Contains(t, html.UnescapeString(told), `"payment_method":"`+setup.PaymentMethod.ID+`"`)
}

func TestAPersonReadsAnInvoice(t *testing.T) {
	s, p := open(t), newPerson(t)
	_, subscription, page := incomplete(t, s)
	invoice := s.reload(subscription).LatestInvoice

	open := p.get(invoice.HostedInvoiceURL)
	assert.Equal(t, "open", open.text("status"))
	assert.Contains(t, open.body, invoice.Number)
	assert.Contains(t, open.body, "10.00 USD")
	assert.Contains(t, open.body, strings.TrimPrefix(page, s.URL()), "it has a link to the payment page")
	require.True(t, p.submit(page, "number", "4242424242424242").says("done"))
	paid := p.get(invoice.HostedInvoiceURL)
	assert.Equal(t, "paid", paid.text("status"))
	assert.False(t, paid.says("pay"))
}

func TestAnOperatorSeesWhoPays(t *testing.T) {
	s := open(t)
	customer, subscription, page := incomplete(t, s)
	customers, err := s.Customers()
	require.NoError(t, err)
	require.Len(t, customers, 1)
	assert.Equal(t, []string{customer, subscription, "incomplete", "<account-1>", page}, []string{
		customers[0].Customer, customers[0].Subscription, customers[0].Status, customers[0].Account, customers[0].CardPage,
	})
}

func TestThereIsNoPageForAWrongSecret(t *testing.T) {
	s, p := open(t), newPerson(t)
	_, subscription, page := incomplete(t, s)
	for _, address := range []string{
		page + "0", page[:len(page)-1], s.CardPage("pi_1_secret_1"), s.CardPage("seti_1_secret_1"), s.CardPage(subscription),
		s.URL() + "/pages/invoices/in_nothing",
	} {
		assert.Equal(t, http.StatusNotFound, p.get(address).status, address)
	}
	assert.NotEqual(t, http.StatusOK, p.submit(page[:len(page)-1], "number", "4242424242424242").status)
	assert.Equal(t, stripe.SubscriptionStatusIncomplete, s.reload(subscription).Status)
}
