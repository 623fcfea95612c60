package main_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// screenshotVariable is the environment variable with a file for a screenshot of the page at the end of its test.
const screenshotVariable = "RECITAL_TEST_SCREENSHOT"

// TestThePageOfTheInterface enters a key on the page, reads the account and synthesises a text.
func TestThePageOfTheInterface(t *testing.T) {
	longtest.Only(t)
	b := openBrowser(t)
	s := start(t, dataFolder(t))
	b.visit(s.address + "/docs")

	b.await(`document.querySelectorAll(".opblock").length > 0`)
	operations := len(s.description().operations())
	require.EqualValues(t, operations, b.evaluate(`document.querySelectorAll(".opblock").length`),
		"each operation is on the page")

	b.click(".btn.authorize")
	const form = ".modal-ux .auth-container:has(#api_key_value) "
	b.fill(form+"#api_key_value", s.key)
	b.click(form + ".authorize")
	b.click(".modal-ux .btn-done")

	b.try("Account", "getAccount", nil)
	require.Contains(t, b.said("Account", "getAccount"), `"type": "enterprise"`)

	b.try("Speech", "getSpeech", map[string]string{"text": "Hello from the page.", "voice": "leah"})
	b.await(`document.querySelector("#operations-Speech-getSpeech audio")?.duration > 0.5`)

	host, err := url.Parse(s.address)
	require.NoError(t, err)
	for _, address := range b.asked {
		asked, err := url.Parse(address)
		require.NoError(t, err)
		require.True(t, asked.Host == host.Host || asked.Scheme == "data" || asked.Scheme == "blob" ||
			address == "about:blank", "the page asks %s", address)
	}
	require.Empty(t, b.errors)
	b.screenshot()
}

// try opens an operation, fills in its parameters and executes it.
func (b *browser) try(tag, id string, parameters map[string]string) {
	b.t.Helper()
	place := fmt.Sprintf("#operations-%s-%s ", tag, id)
	b.click(place + ".opblock-summary-control")
	// the request will have the key
	b.await(fmt.Sprintf(`document.querySelector('%s[aria-label="authorization button locked"]')`, place))
	b.click(place + ".try-out__btn")
	for name, value := range parameters {
		b.fill(fmt.Sprintf(`%str[data-param-name="%s"] input`, place, name), value)
	}
	b.click(place + ".execute")
	b.await(fmt.Sprintf(
		`document.querySelector("%s.live-responses-table tr.response .response-col_status")?.innerText.startsWith("200")`,
		place))
}

// said returns the response on the page.
func (b *browser) said(tag, id string) string {
	b.t.Helper()
	return fmt.Sprint(b.evaluate(fmt.Sprintf(`document.querySelector("#operations-%s-%s .live-responses-table").innerText`,
		tag, id)))
}

func (b *browser) screenshot() {
	b.t.Helper()
	path := os.Getenv(screenshotVariable)
	if path == "" {
		return
	}
	var picture struct{ Data string }
	b.evaluate(`document.querySelector("audio").scrollIntoView({block: "center"})`)
	b.call("Page.captureScreenshot", nil, &picture)
	content, err := base64.StdEncoding.DecodeString(picture.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(path, content, 0o600))
}
