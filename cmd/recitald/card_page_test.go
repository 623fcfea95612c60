package main_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

var paymentsLine = regexp.MustCompile(`(?m)^  payments +(http://\S+)`)

// A payment on the sandbox's page in a browser changes the plan.
func TestABrowserPaysOnTheSandboxsPage(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openBrowser(t)
	s := start(t, dataFolder(t), "--engines=1")
	s.eventually(func() bool { return len(s.products()) == 4 })
	c := s.openAccount("free")
	made := c.subscribe(t, "indie")

	b.visit(s.told(paymentsLine) + "/pages/cards/" + made.ClientSecret)
	b.fill("#number", "4000 0000 0000 0002")
	b.click("#pay")
	b.await(`document.querySelector("#refusal")?.innerText == "Your card was declined."`)
	b.fill("#number", "4000 0025 0000 3155")
	b.click("#pay")
	b.click("#approve")
	b.await(`!!document.querySelector("#done")`)
	c.awaitPlan(t, plan.Indie)

	s.eventually(func() bool { return len(c.billing(t).Invoices) > 0 })
	b.visit(c.billing(t).Invoices[0].Page)
	b.await(`document.querySelector("#status")?.innerText == "paid"`)
	require.Equal(t, false, b.evaluate(`!!document.querySelector("#pay")`))
	for _, address := range b.asked {
		require.True(t, strings.HasPrefix(address, s.told(paymentsLine)), "%s is not at the sandbox", address)
	}
}

// A front end opens the sandbox's card page, gets the card's id from it, as from Stripe.js, and makes it the default.
func TestABrowserReplacesACardFromAPageThatOpensTheSandboxs(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openBrowser(t)
	app := frontEnd(t)
	s := start(t, dataFolder(t), "--engines=1")
	s.eventually(func() bool { return len(s.products()) == 4 })
	c := s.openAccount("free")
	made := c.subscribe(t, "indie")
	require.Contains(t, string(s.recitalctl("sandbox", "confirm", made.ClientSecret)), "CLOCK")
	c.awaitPlan(t, plan.Indie)
	setup := func() (secret string) {
		var made struct {
			ClientSecret string `json:"client_secret"`
		}
		c.succeeds(t, "setup-intent", order{}, &made)
		return made.ClientSecret
	}
	replace := func(method string) (last4 string) {
		var card struct{ Last4 string }
		c.succeeds(t, "payment-method/replace", order{"payment_method_id": method}, &card)
		require.Equal(t, card.Last4, c.billing(t).PaymentMethod.Last4)
		return card.Last4
	}

	// when a front end opens the card page, then it receives the id of the registered card
	b.visit(app)
	b.await(`document.title == "front end"`)
	b.evaluate(`(addEventListener("message", said => { window.origin_ = said.origin; window.said = said.data }), true)`)
	b.inWindow(s.told(paymentsLine)+"/pages/cards/"+setup()+"?opener="+url.QueryEscape(app), func() {
		b.fill("#number", "4000 0000 0000 0002")
		b.click("#pay")
		b.await(`document.querySelector("#refusal")?.innerText == "Your card was declined."`)
		b.fill("#number", "5555 5555 5555 4444")
		b.click("#pay")
		b.await(`!!document.querySelector("#done")`)
	})
	b.await("!!window.said")
	require.Equal(t, s.told(paymentsLine), b.evaluate("window.origin_"))
	require.Equal(t, "succeeded", b.evaluate("said.setupIntent.status"))
	require.Equal(t, "4444", replace(fmt.Sprint(b.evaluate("said.setupIntent.payment_method"))))

	// and without a browser recitalctl prints the id
	var confirmed struct {
		Method string `json:"payment_method_id"`
	}
	require.NoError(t, json.Unmarshal(s.recitalctl("sandbox", "confirm", setup(), "--format", "json"), &confirmed))
	require.Equal(t, "4242", replace(confirmed.Method))
}
