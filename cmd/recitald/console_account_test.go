package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// TestTheConsolesAccount pays for, changes and cancels a plan, adds keys to hosted projects, edits pronunciations and
// reads the activity, all in a browser.
func TestTheConsolesAccount(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t), "--engines=1")
	s.eventually(func() bool { return len(s.products()) == 4 })
	v := newViewer(t, s)
	v.visit(s.address + "/console")
	v.signIn("Ada Lovelace", "ada@example.com")

	for _, part := range []struct {
		name, view string
		uses       func(*viewer)
	}{
		{"a first payment", "billing", (*viewer).paysForAPlan}, {"changes", "billing", (*viewer).changesItsPlan},
		{"refusals", "billing", (*viewer).isRefused}, {"lines", "usage", (*viewer).seesItsLines},
		{"pronunciations", "pronunciations", (*viewer).saysHowWordsAreSpoken}, {"hosting", "keys", (*viewer).usesHosting},
		{"activity", "security", (*viewer).seesItsActivity}, {"first steps", "playground", (*viewer).takesFirstSteps},
		{"a failed renewal", "billing", (*viewer).owes},
	} {
		t.Run(part.name, func(t *testing.T) {
			v.of(t, func() {
				v.visit(s.address + "/console?" + url.QueryEscape(part.name))
				v.await(`document.querySelector("aside nav")`)
				v.open(part.view)
				part.uses(v)
			})
		})
	}
	require.Empty(t, slices.DeleteFunc(v.errors, expected.MatchString))
}

// onCardPage waits for the card page and calls do on the sandbox's page, which it opens.
func (v *viewer) onCardPage(do func()) {
	v.t.Helper()
	v.await(`location.pathname === "/console/card" && document.querySelector("a[target=_blank]")`)
	pages := v.server.told(paymentsLine) + "/pages/cards/"
	page := v.session
	v.call("Runtime.evaluate", map[string]any{"expression": `document.querySelector("a[target=_blank]").click()`,
		"userGesture": true}, nil)
	var window string
	v.server.eventually(func() bool {
		window = v.window(pages)
		return window != ""
	})
	var attached struct{ SessionID string }
	v.call("Target.attachToTarget", map[string]any{"targetId": window, "flatten": true}, &attached)
	v.enter(attached.SessionID)
	do()
	v.session = page
	v.await(`location.pathname === "/console" && document.querySelector(".plans")`)
	v.call("Target.closeTarget", map[string]any{"targetId": window}, nil)
}

// window returns the id of the window with an address, "" if there is none.
func (v *viewer) window(address string) string {
	v.t.Helper()
	var targets struct {
		TargetInfos []struct{ TargetID, URL string }
	}
	v.call("Target.getTargets", nil, &targets)
	for _, target := range targets.TargetInfos {
		if strings.HasPrefix(target.URL, address) {
			return target.TargetID
		}
	}
	return ""
}

// paysBy pays with a card, or registers it, on the sandbox's page.
func (v *viewer) paysBy(card string) {
	v.t.Helper()
	v.onCardPage(func() {
		v.fill("#number", card)
		v.click("#pay")
		v.await(`document.querySelector("#done, #approve")`)
		v.evaluate(`document.querySelector("#approve")?.click()`)
		v.await(`document.querySelector("#done")`)
	})
}

// isOn waits until the page shows a plan as the current one.
func (v *viewer) isOn(name string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`document.querySelector(".plans .current h3")?.innerText === %q`, name))
	v.unseen("dialog")
}

func (v *viewer) paysForAPlan() {
	v.isOn("Free")
	v.seeing("No invoices yet")
	v.look("billing-free")
	v.press("Subscribe to Indie")
	v.await(`location.pathname === "/console/card" && document.querySelector("a[target=_blank]")`)
	v.seeing("To pay now: $10.00")
	v.look("card")
	v.press("Back to billing")
	v.seeing("Indie begins when its first payment is made.")
	v.look("billing-incomplete")
	v.press("Pay now")
	v.onCardPage(func() {
		v.fill("#number", "4000 0000 0000 0002")
		v.click("#pay")
		v.await(`document.querySelector("#refusal")?.innerText == "Your card was declined."`)
		v.fill("#number", "4242 4242 4242 4242")
		v.click("#pay")
		v.await(`!!document.querySelector("#done")`)
	})
	v.isOn("Indie")
	v.await(`document.querySelector(".brand-name")?.textContent === "visa •••• 4242"`)
	v.await(fmt.Sprintf(`document.querySelector('[aria-label^="View invoice"]')?.href.startsWith(%q)`,
		v.server.told(paymentsLine)+"/pages/invoices/"))

	v.press("Edit: Spending cap")
	v.press("Cap")
	v.fill("dialog input", "-5")
	v.await(`document.querySelector("dialog .primary").disabled`)
	v.fill("dialog input", "12.50")
	v.look("cap")
	v.submit()
	v.seeing("$12.50")
	v.seeing("$0.00 spent past the plan")
	v.look("billing")

	// a link from elsewhere must not make a person pay for another account
	v.visit(v.server.address + "/console/card#pi_1_secret_1")
	v.seeing("There is nothing to pay here")
	v.look("card-empty")
}

func (v *viewer) changesItsPlan() {
	v.isOn("Indie")
	v.press("Upgrade to Pro")
	v.seeing("Charged now")
	v.look("change-preview")
	require.Equal(v.t, 1.0, v.evaluate(`document.querySelectorAll(".billing-figures + section .current").length`))
	v.submit()
	v.isOn("Pro")
	v.await(`document.querySelectorAll("tbody tr").length === 2`)

	v.press("Change to Indie")
	v.seeing("Nothing is charged now.")
	v.submit()
	v.await(`[...document.querySelectorAll(".notice")].some(e => e.innerText.startsWith("Indie begins on "))`)
	v.look("billing-scheduled")
	v.press("Keep my plan")
	v.await(`!document.querySelector(".notice.asks")`)

	v.press("Cancel the subscription")
	v.seeing("Cancel the subscription?")
	v.look("cancel")
	v.submit()
	v.await(`[...document.querySelectorAll(".notice")].some(e => e.innerText.startsWith("Your subscription ends on "))`)
	v.look("billing-cancelled")
	v.press("Resume it")
	v.await(`!document.querySelector(".notice.asks")`)
	v.isOn("Pro")
}

func (v *viewer) isRefused() {
	v.isOn("Pro")
	var customers []struct{ Customer string }
	require.NoError(v.t, json.Unmarshal(v.server.recitalctl("sandbox", "customers", "--format", "json"), &customers))
	v.server.recitalctl("sandbox", "fail-next-payment", customers[0].Customer)
	v.press("Upgrade to Premium")
	v.await(`document.querySelector("dialog form")`)
	v.evaluate(`document.querySelector("dialog form").requestSubmit()`)
	v.await(`document.querySelector("dialog .notice.error")?.innerText.startsWith("The payment was declined")`)
	v.look("change-refused")
	v.press("Cancel")
	v.isOn("Pro")

	// a card that needs its owner's confirmation
	v.press("Replace")
	v.paysBy("4000 0027 6000 3184")
	v.await(`document.querySelector(".brand-name")?.textContent === "visa •••• 3184"`)
	v.press("Upgrade to Premium")
	v.await(`document.querySelector("dialog form")`)
	v.evaluate(`document.querySelector("dialog form").requestSubmit()`)
	v.await(`location.pathname === "/console/card" && document.querySelector("a[target=_blank]")`)
	v.press("Back to billing")
	v.await(`[...document.querySelectorAll(".notice")].some(e => e.innerText.startsWith("Premium begins when you have"))`)
	v.look("billing-pending")
	v.press("Confirm the payment")
	v.onCardPage(func() {
		v.click("#approve")
		v.await(`!!document.querySelector("#done")`)
	})
	v.isOn("Premium")
	v.await(`!document.querySelector(".notice.asks")`)
}

// seesItsLines shows a period near its limit. It is mocked, because that takes too many characters to synthesise here.
func (v *viewer) seesItsLines() {
	v.evaluate(`(real => { window.fetch = (address, options) => {
		const path = new URL(address).pathname
		const end = Math.floor(Date.now() / 1000) + 86400, today = new Date().toISOString().slice(0, 10)
		const made = path.endsWith("billing_history") ? [{plan: "premium", period_end: end, chars_used: 5600000,
			playground_chars_used: 400000}] : path.endsWith("daily_usage_history") ? [{day: today, api_chars_used: 5600000,
			playground_chars_used: 400000}] : null
		return made ? Promise.resolve(new Response(JSON.stringify(made))) : real(address, options)
	} })(window.fetch); location.hash = "#/keys"`)
	v.open("usage")
	v.press("Period")
	v.await(`document.querySelectorAll(".plot line.limit").length === 2`)
	v.seeing("Spending cap: ")
	v.look("usage-lines")
}

func (v *viewer) saysHowWordsAreSpoken() {
	v.seeing("No words yet")
	v.look("pronunciations-empty")
	v.press("Add a word")
	v.fill("dialog input", "Nguyen")
	v.fill("dialog label:nth-of-type(2) input", "win")
	v.look("pronunciation")
	v.submit()
	v.requireText("tbody bdi", "Nguyen")
	v.press("Add a word")
	v.fill("dialog input", "Recital")
	v.press("Phonemes")
	v.fill("dialog label:nth-of-type(2) input", "rɪˈsaɪ7əl")
	v.evaluate(`document.querySelector("dialog form").requestSubmit()`)
	v.await(`document.querySelector("dialog .notice.error")`)
	v.look("pronunciation-refused")
	v.fill("dialog label:nth-of-type(2) input", "rɪˈsaɪtəl")
	v.submit()
	v.requireText("tbody bdi", "/rɪˈsaɪtəl/")
	v.press("Edit \u2068Nguyen\u2069")
	v.fill("dialog input", "nwin")
	v.submit()
	v.requireText("tbody bdi", "nwin")
	v.look("pronunciations")
	v.press("Delete \u2068Nguyen\u2069")
	v.await(`document.querySelectorAll("tbody tr").length === 1`)
	v.press("Undo")
	v.await(`document.querySelectorAll("tbody tr").length === 2`)
}

func (v *viewer) usesHosting() {
	config, code := v.server.installs("my-site", hostile[:20])
	v.visit(v.server.address + "/console?" + url.Values{"configurationId": {config}, "code": {code}}.Encode() + "#/keys")
	v.await(fmt.Sprintf(`document.querySelector(".hosting input")?.value === %q`, config))
	v.look("hosting")
	v.press("Show the projects")
	v.requireText("tbody bdi", "my-site")
	require.NotContains(v.t, v.evaluate(`location.search`), code)
	v.press("Add a key to \u2068my-site\u2069")
	v.await(`document.querySelectorAll("tbody bdi").length > 2`) // the account's keys include the project's
	v.look("hosting-projects")
	v.press("Remove the key of \u2068my-site\u2069")
	v.seeing("No keys yet")
}

func (v *viewer) seesItsActivity() {
	v.seeing("A session was opened by a sign-in through idp_1.")
	v.await(`[...document.querySelectorAll(".acts-table td")].some(e => e.innerText === "127.0.0.1")`)
	v.await(`[...document.querySelectorAll(".acts-table th")].some(e => e.innerText.includes("was revoked"))`)
	v.evaluate(`document.querySelector("#activity").scrollIntoView()`)
	v.look("activity")
	v.evaluate(`[...document.querySelectorAll("main .choice button")].find(b => b.innerText === "Billing").click()`)
	v.await(`document.querySelectorAll(".acts-table tbody tr").length === 20`)
	v.press("Older")
	v.await(`document.querySelector(".acts-table + .pager button:not(:disabled)")?.innerText === "Newer"`)
	v.look("activity-billing")
}

func (v *viewer) takesFirstSteps() {
	v.seeing("First steps")
	v.look("first-steps")
	v.evaluate(`fetch("v1/account/new_api_key").then(r => r.status)`)
	v.visit(v.server.address + "/console?again")
	v.await(`document.querySelectorAll(".first-steps .done").length === 1`)
	v.press("Hide the first steps")
	v.unseen(".first-steps")
	v.visit(v.server.address + "/console?hidden")
	v.await(`document.querySelector(".voice-button bdi")`)
	v.unseen(".first-steps")
}

// owes uses a card that fails when the next period begins.
func (v *viewer) owes() {
	v.isOn("Premium")
	v.press("Replace")
	v.paysBy("4000 0000 0000 0341")
	v.await(`document.querySelector(".brand-name")?.textContent === "visa •••• 0341"`)
	v.server.recitalctl("sandbox", "advance", "744h")
	v.visit(v.server.address + "/console?owes")
	v.await(`document.querySelector("aside nav, .providers")`)
	if v.evaluate(`!!document.querySelector(".providers")`) == true {
		v.signIn("Ada Lovelace", "ada@example.com")
	}
	v.open("billing")
	v.await(`document.querySelector(".notice.error")?.innerText.startsWith("The last payment has failed.")`)
	v.look("billing-past-due")
	v.await(`document.querySelector('.notice.error a[href*="/pages/invoices/"]')`)
	v.press("Replace")
	v.paysBy("5555 5555 5555 4444")
	v.await(`document.querySelector(".plans") && !document.querySelector(".notice.error")`)
}

// stripeScript implements the part of Stripe.js that the card page needs: a form in an iframe of Stripe's, a declined
// card, and a successful payment.
const stripeScript = `window.Stripe = key => ({
	elements: options => ({ create: () => {
		const handlers = {}
		return { on: (what, then) => { handlers[what] = then }, mount: box => {
			const frame = document.createElement("iframe")
			frame.title = "Card"
			frame.src = "https://js.stripe.com/frame"
			frame.onload = () => handlers.ready()
			box.append(frame)
		} }
	} }),
	retrievePaymentIntent: async secret => (
		{ paymentIntent: { id: secret.split("_secret")[0], status: "requires_payment_method" } }),
	confirmPayment: async () => (await fetch("https://api.stripe.com/pay", { method: "POST", body: key })).json(),
})`

// With Stripe's publishable key the card page loads Stripe.js. No other page does.
func TestTheConsoleTakesCardsAtStripe(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openPaymentProvider(t)
	var secret string
	payments := 0
	provider := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch r.Host + r.URL.Path {
		case "js.stripe.com/clover/stripe.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, stripeScript)
		case "js.stripe.com/frame":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!doctype html><html lang=en><title>Card</title><main><h1>Card</h1></main>")
		case "api.stripe.com/pay":
			if payments++; payments == 1 {
				fmt.Fprint(w, `{"error": {"message": "Your card has insufficient funds."}}`)
				return
			}
			b.pays(secret, "pm_card_visa")
			fmt.Fprint(w, `{"paymentIntent": {"id": "pi", "status": "succeeded"}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(provider.Close)
	host := strings.TrimPrefix(provider.URL, "https://")
	s := b.serve(dataFolder(t), "--stripe-publishable-key=pk_test_console")
	v := viewerOf(openBrowserWith(t, "{}", "--ignore-certificate-errors",
		"--host-resolver-rules=MAP js.stripe.com "+host+", MAP api.stripe.com "+host), s)

	v.visit(s.address + "/console")
	v.signIn("Ada Lovelace", "ada@example.com")
	v.asked = nil // forget the identity provider's page
	v.open("billing")
	v.isOn("Free")
	v.requireOneHost()
	v.press("Subscribe to Indie")
	v.await(`location.pathname === "/console/card" && document.querySelector(".stripe-box iframe")`)
	secret = v.evaluate(`JSON.parse(sessionStorage.getItem("card-task")).secret`).(string)
	v.press("Pay $10.00")
	v.seeing("Your card has insufficient funds.")
	v.look("card-stripe")
	v.enters("Pay $10.00") // by the keyboard
	v.await(`location.pathname === "/console"`)
	v.isOn("Indie")
	require.Empty(t, slices.DeleteFunc(v.errors, expected.MatchString))
}
