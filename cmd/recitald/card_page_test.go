package main_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
)

var paymentsLine = regexp.MustCompile(`(?m)^  payments +(http://\S+)`)

// A person pays in a real browser, on the page of the sandbox that recitald brings along, and the plan follows.
func TestABrowserPaysOnTheSandboxsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
	t.Parallel()
	b := openBrowser(t)
	s := start(t, dataFolder(t), "--engines=1")
	s.eventually(func() bool { return len(s.products()) == 4 })
	c := s.openAccount("free")
	made := c.subscribe(t, "indie")
	pages := s.told(paymentsLine) + "/pages/"

	b.visit(pages + "cards/" + made.ClientSecret)
	b.fill("#number", "4000 0000 0000 0002")
	b.click("#pay")
	b.await(`document.querySelector("#refusal")?.innerText == "Your card was declined."`)
	b.fill("#number", "4000 0025 0000 3155")
	b.click("#pay")
	b.click("#approve")
	b.await(`!!document.querySelector("#done")`)
	c.awaitPlan(t, plan.Indie)

	b.visit(pages)
	b.click(`a[href*="/pages/invoices/"]`)
	b.await(`document.querySelector("#status")?.innerText == "paid"`)
	require.Equal(t, false, b.evaluate(`!!document.querySelector("#pay")`))
	for _, address := range b.asked {
		require.True(t, strings.HasPrefix(address, s.told(paymentsLine)), "%s is elsewhere", address)
	}
}
