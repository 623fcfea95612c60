package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// TestTheOperatorsConsole does the tasks of operators and auditors in a browser at the admin address.
func TestTheOperatorsConsole(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t), "--audit-head-interval=1s")
	account := s.openAccount("indie")
	v := newViewer(t, s)
	v.visit(s.admin + "/")
	v.signsInWithAToken()
	for _, part := range []struct {
		view string
		uses func(*viewer)
	}{
		{"models", (*viewer).usesReadModels},
		{"overview", (*viewer).usesTheOverview},
		{"accounts", func(v *viewer) { v.usesAccounts(account.id) }},
		{"log", func(v *viewer) { v.usesTheLog(account.id) }},
		{"audit", (*viewer).usesTheAudit},
		{"keyboard", func(v *viewer) { v.operatesByKeyboard(account.id) }},
		{"roles", func(v *viewer) { v.isAnAuditor(account.id) }},
	} {
		t.Run(part.view, func(t *testing.T) {
			v.of(t, func() {
				if part.view != "roles" && part.view != "keyboard" {
					v.open(part.view)
				}
				part.uses(v)
			})
		})
	}
	v.losesItsConnectionAndSession()
	for _, address := range v.asked {
		require.Regexp(t, "^("+s.admin+"/|data:|blob:)", address)
	}
	require.Empty(t, slices.DeleteFunc(v.errors, expected.MatchString))
}

// token signs in with a role's token.
func (v *viewer) token(role string) {
	v.t.Helper()
	v.fill("input[type=password]", v.server.secret(role+"-token"))
	v.click(".sign-in form button:not(:disabled)")
	v.await(`document.querySelector("aside nav")`)
}

func (v *viewer) signsInWithAToken() {
	t := v.t
	v.seeing("For operators and auditors of this service.")
	require.Equal(t, v.server.admin+"/console", v.evaluate(`location.href`))
	v.requireFewAdminRequests()
	v.look("operators-sign-in")
	v.fill("input[type=password]", "a wrong token")
	v.click(".sign-in form button:not(:disabled)")
	v.seeing("This token is not valid.")
	v.token("operator")
	v.seeing("Operator, until")
	require.NotContains(t, v.evaluate(`document.cookie`), "recital-operator")
	require.Empty(t, v.evaluate(`JSON.stringify([localStorage, sessionStorage]).replace(/[{}\[\],]/g, "")`))
}

func (v *viewer) requireFewAdminRequests() {
	v.t.Helper()
	asked := slices.DeleteFunc(slices.Clone(v.asked), func(address string) bool { return address == v.server.admin+"/" })
	asked = slices.DeleteFunc(asked, func(address string) bool { return address[:5] == "data:" })
	require.NotEmpty(v.t, asked)
	require.LessOrEqual(v.t, len(asked), firstRequests, "%v", asked)
}

// usesReadModels rebuilds a read model, promotes it, rolls it back, and retires the new generation. Then it skips a
// parked event of an unknown type.
func (v *viewer) usesReadModels() {
	v.await(`document.querySelectorAll("tbody tr").length > 5`)
	v.seeing("No event is parked.")
	v.look("operators-models")
	v.press("Inspect voices, version 1, generation 1")
	v.seeing("Fed by")
	v.look("operators-inspect")
	v.press("Close")

	v.press("Rebuild")
	v.seeing("Rebuild read models")
	v.evaluate(`[...document.querySelectorAll("dialog .names label")].find(l => l.innerText === "voices").click()`)
	v.evaluate(`document.querySelector("dialog .check:not(.names *)").click()`)
	v.fill("dialog form > .field input", "ticket 7, Größe 😀")
	v.look("operators-rebuild")
	v.submit()
	v.press("Promote voices, version 1, generation 2")
	v.submit()
	v.press("Roll back voices, version 1, generation 2")
	v.submit()
	v.press("Retire voices, version 1, generation 2")
	v.fill("dialog input", "retire")
	v.submit()
	v.await(`!document.querySelector('[aria-label="Retire voices, version 1, generation 2"]')`)

	event := spoil(v.t, v.server.node(), "account-0190b0c0111172228333444455556666", "account-adopted", ofANewerRelease)
	v.await(`document.querySelector(".parked code")?.innerText === "account-adopted"`)
	v.look("operators-parked")
	v.press("Show account-adopted")
	v.seeing(event.String())
	v.press("Close")
	v.press("Retry")
	v.await(`document.querySelector(".toast")`)
	v.press("Skip")
	v.seeing("Skip this event?")
	require.Equal(v.t, true, v.evaluate(`document.querySelector("dialog .danger").disabled`))
	v.fill("dialog input", "of a newer release")
	v.look("operators-skip")
	v.submit()
	v.seeing("of a newer release")
	v.press("Confirm")
	v.fill("dialog input", "it was read")
	v.submit()
	v.await(`!document.querySelector(".parked .badge.bad")`)
}

func (v *viewer) usesTheOverview() {
	v.visit(v.server.admin + "/console?again")
	v.seeing("event store answers")
	v.await(`document.querySelectorAll(".lines svg").length === 3`)
	v.seeing("This one")
	require.LessOrEqual(v.t, v.evaluate(`shift`), mostShift)
	v.look("operators-overview")
	if v.evaluate(`!!document.querySelector(".alerts li")`) == true {
		v.press("Clear")
		v.seeing("The alert is cleared.")
	}
}

func (v *viewer) usesAccounts(id string) {
	v.await(`document.querySelectorAll("tbody tr").length >= 2`)
	v.look("operators-accounts")
	v.fill("input[type=email]", "nobody@example.com")
	v.fill("form:has([type=email]) .field:last-of-type input", "ticket 7")
	v.evaluate(`document.querySelector("form:has([type=email])").requestSubmit()`)
	v.seeing("No account has this address")
	v.fill("main input", id)
	v.evaluate(`document.querySelector("main form").requestSubmit()`)
	v.seeing("Its life in the log")
	v.seeing("Indie")
	v.press("Grant credit")
	v.fill("dialog input[type=number]", "1234")
	v.look("operators-credit")
	v.submit()
	v.seeing("1,234 characters")
	v.press("Grant role")
	v.fill("dialog input", "on call")
	v.submit()
	v.press("Withdraw role")
	v.fill("dialog input", "no longer on call")
	v.submit()
	v.press("Grant role")
	v.press("Cancel")
	v.seeing("The account is open, so nothing of it is erased.")
	v.look("operators-account")
}

func (v *viewer) usesTheLog(id string) {
	v.await(`document.querySelectorAll("tbody tr").length >= 20`)
	v.look("operators-log")
	v.fill("main input", "account-opened")
	v.fill("main .fields label:nth-of-type(2) input", "account-*")
	v.fill("main .fields label:nth-of-type(3) input", id)
	v.evaluate(`document.querySelector("main form").requestSubmit()`)
	v.await(`document.querySelectorAll("tbody tr").length === 1`)
	v.press("Show account-opened")
	v.seeing("Personal data is sealed in the log")
	v.await(fmt.Sprintf(`document.querySelector("dialog").innerText.includes("account-%s")`, id))
	v.look("operators-event")
	v.press("Close")

	v.press("Life of an account")
	v.seeing("Which account?")
	v.fill("main input", id)
	v.evaluate(`document.querySelector("main form").requestSubmit()`)
	v.seeing("was opened on plan indie")
	v.look("operators-life")
	v.fill("main input[type=datetime-local]", "2020-01-02T03:04:05")
	v.evaluate(`document.querySelector("main form").requestSubmit()`)
	v.seeing("As it was at")
	v.seeing("Nothing is recorded of it")
}

func (v *viewer) usesTheAudit() {
	v.await(`document.querySelectorAll("tbody tr").length > 3`)
	v.look("operators-audit")
	v.fill("main input[list]", "account-opened")
	v.evaluate(`document.querySelector("main form").requestSubmit()`)
	v.await(`[...document.querySelectorAll("tbody button")].every(b => b.ariaLabel === "Show account-opened")`)
	v.press("Show account-opened")
	v.seeing("Show the event")
	v.press("Show the event")
	v.seeing("Metadata")
	v.press("Close")
	v.press("Download CSV")
	v.press("Operators")
	v.seeing("ticket 7, Größe 😀")
	v.press("Audit chain")
	v.await(`document.querySelectorAll("tbody tr").length > 0`)
	v.press("Check the log")
	v.seeing("The log matches its signed heads.")
	v.look("operators-chain")
	v.press("Download heads")
}

// isAnAuditor cannot change anything, and reads personal data with a reason.
func (v *viewer) isAnAuditor(id string) {
	v.press("Sign out")
	v.seeing("For operators and auditors of this service.")
	v.token("auditor")
	v.open("models")
	v.await(`document.querySelectorAll("tbody tr").length > 5`)
	require.Equal(v.t, false, v.evaluate(`[...document.querySelectorAll("main button")].some(
		b => /^(Rebuild|Promote|Retire|Skip|Retry|Roll back|Confirm|Undo the skip)/.test(b.innerText))`))
	require.Contains(v.t, v.evaluate(`fetch("admin/projections/rebuild", {method: "POST", body: "{\"all\":true}",
		headers: {"content-type": "application/json"}}).then(async r => r.status + await r.text())`), "403")
	v.open("accounts/" + url.PathEscape(id))
	v.seeing("Its life in the log")
	require.Equal(v.t, false, v.evaluate(`document.querySelector("main").innerText.includes("Grant")`))

	person := v.server.person()
	require.Equal(v.t, http.StatusFound, person.get(person.comeBack("eve@example.com")).status)
	v.open("audit")
	v.evaluate(`document.querySelector("main input[type=checkbox]").click()`)
	v.await(`document.querySelector("main form footer button").disabled`)
	v.fill("main form > .field input", "ticket 8")
	v.look("operators-personal")
	v.eventually(`new Promise(done => { document.querySelector("main form").requestSubmit(); setTimeout(
		() => done(!!document.querySelector("tbody .personal")?.innerText.includes("127.0.0.1")), 300) })`)
	v.press("Operators")
	v.seeing("ticket 8")
}

// losesItsConnectionAndSession opens each view offline and again when the network is back. Then it deletes the cookie,
// and signs in again by keyboard, which leads back to the view.
func (v *viewer) losesItsConnectionAndSession() {
	for _, view := range []string{"overview", "models", "accounts", "log", "audit"} {
		v.network(true, 0)
		v.evaluate(fmt.Sprintf(`location.hash = "#/%s"`, view))
		v.await(fmt.Sprintf(`document.querySelector("nav [aria-current]").hash === "#/%s" &&
			!document.querySelector("main .skeleton")`, view))
		v.seeing("You are offline")
		v.network(false, 0)
		v.await(`document.querySelector("main h1") &&
			!document.querySelector("main :is(.skeleton, .empty[role=alert], .notice.warning)")`)
	}
	v.call("Network.deleteCookies", map[string]any{"name": "recital-operator", "url": v.server.admin}, nil)
	v.evaluate(`location.hash = "#/accounts"`)
	v.seeing("Your session is over. Sign in again to continue.")
	v.await(`document.activeElement.matches("input[type=password]")`)
	v.types(v.server.secret("auditor-token"))
	v.hit("Enter", 0)
	v.await(`document.querySelectorAll("tbody tr").length > 0 && location.hash === "#/accounts"`)
}
