package main_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

const (
	// screenshotsVariable is the environment variable with a folder for screenshots of each view of the console.
	screenshotsVariable = "RECITAL_TEST_SCREENSHOTS"
	// firstRequests is the maximum number of requests of the console's first view.
	firstRequests = 6
	// hostile is a name that tries to inject a script into another person's page.
	hostile = `<img src=x onerror=alert(1)>` + "\u202eevil\u2066 😈" + `"'&lt;script>`
)

// viewer is a browser that looks at the console of a server.
type viewer struct {
	*browser
	t      *testing.T
	server *server
	folder string // for screenshots, "" for none
	axe    string // the script of axe-core, "" if it is not installed
}

func newViewer(t *testing.T, s *server) *viewer {
	t.Helper()
	return viewerOf(openBrowser(t), s)
}

func viewerOf(b *browser, s *server) *viewer {
	t := s.t
	t.Helper()
	v := &viewer{browser: b, t: t, server: s, folder: os.Getenv(screenshotsVariable)}
	axe, err := os.ReadFile(filepath.Join("..", "..", "console", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Log("axe-core is not installed (npm ci --ignore-scripts in console), so accessibility is not tested")
	}
	v.axe = string(axe)
	v.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": watching}, nil)
	return v
}

// press waits for a control with a text or label and clicks on it.
func (v *viewer) press(text string) {
	v.t.Helper()
	find := fmt.Sprintf(`[...document.querySelector("dialog[open]")?.querySelectorAll("button, a") ??
		document.querySelectorAll("button, a")].find(e => !e.disabled &&
		[e.innerText?.trim(), e.getAttribute("aria-label")].includes(%q))`, text)
	v.await(find)
	v.evaluate(find + ".click()")
}

// seeing waits until the page shows a text.
func (v *viewer) seeing(text string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`document.body?.innerText.includes(%q)`, text))
}

// eventually waits until a promise resolves to true, and asks again until then.
func (v *viewer) eventually(promise string) {
	v.t.Helper()
	v.server.eventually(func() bool { return v.evaluate(promise) == true })
}

// submit sends the dialog's form until the dialog closes. A busy service may fail to answer the first time.
func (v *viewer) submit() {
	v.t.Helper()
	for open := any(true); open == true; open = v.evaluate(`!!document.querySelector("dialog form")`) {
		v.evaluate(`document.querySelector("dialog form").requestSubmit()`)
		v.await(`!document.querySelector("dialog :is([aria-busy=true], form:not(:has(.notice.error)))")`)
	}
}

// unseen waits until an element is gone.
func (v *viewer) unseen(selector string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`!document.querySelector(%q)`, selector))
}

// open goes to a view and waits until it is loaded.
func (v *viewer) open(name string) {
	v.t.Helper()
	v.evaluate(fmt.Sprintf(`location.hash = "#/%s"`, name))
	v.await(`document.querySelector("main h1") && !document.querySelector("main :is(.skeleton, .waiting)")`)
}

// signIn signs in from the welcome page as a person with a name.
func (v *viewer) signIn(name, email string) {
	v.t.Helper()
	v.press("Development sign-in 1")
	v.fill("input[name=name]", name)
	v.fill("input[name=email]", email)
	v.click("#sign-in")
	v.await(`document.querySelector("aside nav")`)
}

// look checks layout and accessibility of the page in light and dark, narrow, wide and at 200 % zoom.
func (v *viewer) look(name string) {
	v.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		v.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
			{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
		for _, width := range []int{360, 1440} {
			v.call("Emulation.setDeviceMetricsOverride",
				map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
			v.evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
			v.requireNoSidewaysScroll(fmt.Sprintf("%s at %d px", name, width))
			v.picture(fmt.Sprintf("%s-%s-%d", name, scheme, width))
			v.requireAccessible(fmt.Sprintf("%s in %s at %d px", name, scheme, width))
		}
	}
	v.requireControls(name)
	// the browser prefers reduced motion
	assert.Zero(v.t, v.evaluate(`document.getAnimations().length`), "%s moves", name)
	v.zoomed()
	v.requireNoSidewaysScroll(name + " at twice the size")
	v.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
}

func (v *viewer) picture(name string) {
	v.t.Helper()
	if v.folder == "" {
		return
	}
	var picture struct{ Data string }
	v.call("Page.captureScreenshot", nil, &picture)
	content, err := base64.StdEncoding.DecodeString(picture.Data)
	require.NoError(v.t, err)
	require.NoError(v.t, os.WriteFile(filepath.Join(v.folder, name+".png"), content, 0o600))
}

func (v *viewer) requireAccessible(where string) {
	v.t.Helper()
	if v.axe == "" {
		return
	}
	if v.evaluate("!!window.axe") == false {
		v.evaluate(v.axe + "; true")
	}
	found := v.evaluate(`axe.run().then(r => JSON.stringify(r.violations.map(
		v => [v.id, v.nodes.map(n => n.html + " " + n.failureSummary)])))`)
	assert.Equal(v.t, "[]", found, where)
}

// TestTheConsole signs in, synthesises, manages keys, clips, voices and sessions, and signs out, all in a browser.
func TestTheConsole(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	v := newViewer(t, s)

	v.visit(s.address + "/console")
	v.seeing("Development sign-in 1")
	v.requireFewRequests()
	v.look("welcome")
	v.signIn(hostile, "eve@example.com")
	v.requireText(".who bdi", strings.NewReplacer("\u202e", "", "\u2066", "").Replace(hostile))

	v.asked = nil
	v.visit(s.address + "/")
	v.await(`document.querySelector(".voice-button bdi")`)
	v.requireFewRequests()

	for _, part := range []struct {
		view string
		uses func(*viewer)
	}{
		{"playground", (*viewer).usesThePlayground}, {"keys", (*viewer).usesKeys}, {"usage", (*viewer).usesUsage},
		{"clips", (*viewer).usesClips}, {"voices", (*viewer).usesVoices}, {"security", (*viewer).usesSecurity},
		{"clips", (*viewer).losesItsConnection},
	} {
		t.Run(part.view, func(t *testing.T) {
			v.of(t, func() {
				v.visit(s.address + "/console?" + part.view)
				v.await(`document.querySelector("aside nav")`)
				v.open(part.view)
				part.uses(v)
			})
		})
	}
	v.requireOneHost()
	v.signsOut()
	require.Empty(t, slices.DeleteFunc(v.errors, expected.MatchString))
}

// expected matches the browser's errors for refusals, for requests while offline, and for a stream that ends with its
// session.
var expected = regexp.MustCompile(`status of 4\d\d|ERR_INTERNET_DISCONNECTED|ERR_INCOMPLETE_CHUNKED_ENCODING`)

// of makes failures in do those of another test.
func (v *viewer) of(t *testing.T, do func()) {
	whole, server := v.t, v.server
	own := *server
	own.t = t
	v.t, v.browser.t, v.server = t, t, &own
	defer func() { v.t, v.browser.t, v.server = whole, whole, server }()
	do()
}

// requireOneHost checks that the page has sent requests only to its service's host.
func (v *viewer) requireOneHost() {
	v.t.Helper()
	for _, address := range v.asked {
		require.Regexp(v.t, "^("+regexp.QuoteMeta(v.server.address)+"/|data:|blob:)", address)
	}
}

// requireFewRequests checks the number of requests of the first view.
func (v *viewer) requireFewRequests() {
	v.t.Helper()
	asked := slices.DeleteFunc(slices.Clone(v.asked), func(address string) bool {
		return !strings.HasPrefix(address, v.server.address) || address == v.server.address+"/" // which redirects
	})
	require.NotEmpty(v.t, asked)
	require.LessOrEqual(v.t, len(asked), firstRequests, "%v", asked)
	v.asked = nil
}

// requireText waits until an element shows a text literally.
func (v *viewer) requireText(selector, text string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent === %q)`, selector, text))
	require.Zero(v.t, v.evaluate(`document.querySelectorAll("#app img, #app script").length`))
}

func (v *viewer) usesThePlayground() {
	t := v.t
	v.look("playground-empty")
	// a voice is searched, starred and chosen
	v.await(`document.querySelector("button.voice-button")`)
	v.evaluate(`document.querySelector(".voice-button").focus()`)
	v.click(".voice-button")
	v.await(`document.querySelectorAll("dialog .voices li").length === 9`)
	v.look("voice-chooser")
	v.fill(`dialog input[type=search]`, "mor")
	v.await(`document.querySelectorAll("dialog .voices li").length === 1`)
	v.click(`dialog .voices [aria-label^="Star"]`)
	v.await(`document.querySelector('dialog .voices [aria-pressed=true].icon')`)
	v.click("dialog .voices .choose")
	v.unseen("dialog")
	require.Equal(t, true, v.evaluate(`document.activeElement.matches(".voice-button")`), "the focus returns")

	// words light up in their order while the sound plays
	v.fill("#text", "One two three four. Five six seven eight.")
	v.seeing("Costs 41 characters")
	v.evaluate(`window.lit = []; (function look() {
		const now = Number(document.querySelector(".transcript .now")?.dataset.i ?? -1)
		if (now >= 0 && now !== lit.at(-1)) lit.push(now)
		requestAnimationFrame(look)
	})()`)
	v.press("Speak")
	v.await(playedTo("> 0"))
	v.await(`document.querySelector('.player [aria-label="Play"]')`) // again, at the end
	v.await(`document.querySelectorAll(".transcript .said").length > 14`)
	require.Equal(t, true, v.evaluate(`lit.length > 2 && lit.every((word, i) => i === 0 || word > lit[i - 1])`))
	v.seeing("Cost 41 characters. 14,959 characters left.")

	// a word seeks
	v.evaluate(`[...document.querySelectorAll(".transcript .w")].find(w => w.textContent === "seven").click()`)
	v.await(playedTo("> 1"))
	v.await(`document.querySelector(".transcript .now")`)
	v.click(`.player [aria-label="Pause"]`)
	v.look("playground")

	// a text that is too long is explained and kept
	v.fill("#text", strings.Repeat("a", 5001))
	v.seeing("1 character too many")
	require.Equal(t, true, v.evaluate(`document.querySelector(".speak").disabled`))
	v.fill("#text", `It's "quoted" $HOME \ 日本 😀`)
	v.press("As code")
	v.runsTheCode()
	v.press("Close")
}

// runsTheCode copies the example code from the page and runs it.
func (v *viewer) runsTheCode() {
	v.look("code")
	for name, command := range map[string][]string{
		"curl": {"sh", "program"}, "Go": {"go", "run", "program.go"}, "Node": {"node", "program.mjs"},
		"Python": {"python3", "program"},
	} {
		v.press(name)
		v.await(fmt.Sprintf(`document.querySelector("dialog [aria-pressed=true]").innerText === %q`, name))
		folder := v.t.TempDir()
		text := v.evaluate(`document.querySelector("dialog pre").innerText`).(string)
		require.NoError(v.t, os.WriteFile(filepath.Join(folder, command[len(command)-1]), []byte(text), 0o600))
		program := exec.CommandContext(v.t.Context(), command[0], command[1:]...)
		program.Dir, program.Env = folder, append(os.Environ(), "RECITAL_API_KEY="+v.server.key)
		output, err := program.CombinedOutput()
		require.NoError(v.t, err, "%s: %s\n%s", name, output, text)
		sound, err := os.Stat(filepath.Join(folder, "speech.mp3"))
		require.NoError(v.t, err)
		require.Greater(v.t, sound.Size(), int64(2000), name)
	}
}

// playedTo returns an expression that compares the player's position in seconds.
func playedTo(comparison string) string {
	return `Number(document.querySelector(".player input")?.value ?? 0) ` + comparison
}

func (v *viewer) usesKeys() {
	v.seeing("No keys yet")
	v.look("keys-empty")
	v.press("Create a key")
	v.fill("dialog input", hostile)
	v.evaluate(`document.querySelector("dialog form").requestSubmit()`)
	v.seeing("Copy your key now")
	v.look("key-shown")
	key := v.evaluate(`document.querySelector(".secret code").innerText`).(string)
	require.Equal(v.t, http.StatusOK, v.server.accountBy(key))
	v.press("I have copied it")
	v.requireText("tbody bdi", hostile)
	require.NotContains(v.t, v.evaluate(`document.body.innerHTML`), key)
	v.press("Rename")
	v.fill("dialog input", "Website")
	v.press("Save")
	v.requireText("tbody bdi", "Website")
	v.look("keys")
	v.seesOtherTabs()
	v.seesOtherChanges()
	_, err := customer{server: v.server, key: key}.speak(9)
	require.NoError(v.t, err)

	v.press("Revoke")
	v.await(`document.querySelector("dialog .danger").disabled`)
	v.look("revoke")
	v.fill("dialog input", "revoke")
	v.click("dialog .danger:not(:disabled)")
	v.seeing("No keys yet")
	require.Equal(v.t, http.StatusUnauthorized, v.server.accountBy(key))
}

// seesOtherChanges renames the key without the page's code and sees the name without a reload. The page's stream opens
// a moment after its first view, so the key is renamed until then.
func (v *viewer) seesOtherChanges() {
	v.eventually(`fetch("v1/account").then(r => r.json()).then(account => fetch("v1/account/api_key/" +
		encodeURIComponent(account.apikeys[0].masked) + "/name", {method: "POST",
		headers: {"Content-Type": "application/json"}, body: JSON.stringify({name: "Elsewhere " + Date.now()})}))
		.then(() => new Promise(wait => setTimeout(wait, 500)))
		.then(() => document.querySelector("tbody bdi").innerText.startsWith("Elsewhere"))`)
}

// accountBy returns the status of GET /v1/account with a key.
func (s *server) accountBy(key string) int {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.address+"/v1/account", nil)
	require.NoError(s.t, err)
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	return response.StatusCode
}

func (v *viewer) usesUsage() {
	v.seeing("Used in this period")
	v.await(`document.querySelectorAll("tbody tr").length === 2`)
	require.Equal(v.t, []any{"9 characters", "50 characters"},
		v.evaluate(`[...document.querySelectorAll("tbody td:last-child")].map(e => e.innerText)`))
	v.requireText("tbody bdi", "Revoked")
	v.await(`[...document.querySelectorAll(".bar .browser")].at(-1).getAttribute("height") > 10`)
	v.look("usage")
	v.press("Period")
	v.await(`document.querySelectorAll(".bar").length === 1 && document.querySelectorAll("tbody time").length === 1`)
	v.evaluate(`document.querySelectorAll(".section-header button").forEach(e => e.click())`)
}

func (v *viewer) usesClips() {
	v.await(`document.querySelectorAll(".clips li").length === 1`)
	v.seeing("One two three four.")
	v.look("clips")
	v.press("Play the clip")
	v.await(`document.querySelector('[aria-label="Pause the clip"]')`)
	v.press("Delete the clip")
	v.await(`document.querySelector(".clips .removed")`)
	v.press("Undo")
	v.unseen(".clips .removed")
	v.press("Delete the clip")
	v.seeing("No clips yet")
	v.eventually(`fetch("v1/account/clips").then(r => r.json()).then(r => r.total_clips === 0)`)
	v.look("clips-empty")
}

func (v *viewer) usesVoices() {
	v.await(`document.querySelectorAll(".voices li").length === 9`)
	recording := filepath.Join(v.t.TempDir(), "me.wav")
	require.NoError(v.t, os.WriteFile(recording, v.server.reference(v.t, "wav", 400), 0o600))
	v.press("Create a voice")
	v.fill("dialog input", hostile)
	v.press("Files")
	v.choose("dialog input[type=file]", recording)
	v.await(`document.querySelector(".checked strong")`)
	v.look("voice-create")
	v.submit()
	v.requireText(".compare bdi", hostile)
	v.press("Done")
	v.requireText(".voices bdi", hostile)
	v.await(`document.querySelectorAll(".voices li").length === 10`)
	v.look("voices")
	v.press("Yours")
	v.await(`document.querySelectorAll(".voices li").length === 1`)
	v.press("Edit")
	v.fill("dialog input", "Mine")
	v.press("Save")
	v.requireText(".voices bdi", "Mine")
	v.press("Delete")
	v.seeing("No clip was made with it.")
	v.fill("dialog input", "delete")
	v.click("dialog .danger:not(:disabled)")
	v.seeing("You have not made a voice yet")
}

// choose sets the file of a field.
func (v *viewer) choose(selector, path string) {
	v.t.Helper()
	var document struct{ Root struct{ NodeID int } }
	v.call("DOM.getDocument", nil, &document)
	var field struct{ NodeID int }
	v.call("DOM.querySelector", map[string]any{"nodeId": document.Root.NodeID, "selector": selector}, &field)
	v.call("DOM.setFileInputFiles", map[string]any{"nodeId": field.NodeID, "files": []string{path}}, nil)
}

func (v *viewer) usesSecurity() {
	v.await(`document.querySelectorAll("[aria-labelledby=sessions] tbody tr").length === 1`)
	other := v.server.person()
	entered := other.get(other.comeBack("eve@example.com"))
	require.Equal(v.t, http.StatusFound, entered.status, entered.text())
	// a tab shows outside changes when it becomes visible
	v.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`)
	v.await(`document.querySelectorAll("[aria-labelledby=sessions] tbody tr").length === 2`)
	v.look("security")
	v.evaluate(`[...document.querySelectorAll("tbody button")].find(b => b.innerText === "Sign out").click()`)
	v.seeing("The browser is signed out.")
	v.server.eventually(func() bool {
		return other.get(v.server.address+"/auth/oauth/validate").status == http.StatusUnauthorized
	})
	v.click("input[role=switch]")
	v.await(`!document.querySelector("input[role=switch]").checked`)
	v.eventually(`fetch("v1/account").then(r => r.json()).then(r => r.wants_email === false)`)
	v.press("Accept the terms")
	v.seeing("Accepted")
}

// signsOut ends a session by its button. The next session is ended elsewhere while a view is open, and a new sign-in
// leads back to that view.
func (v *viewer) signsOut() {
	v.press("Sign out")
	v.seeing("Development sign-in 1")
	v.signIn("Ada Lovelace", "ada@example.com")
	v.requireText(".who bdi", "Ada Lovelace")
	v.open("usage")
	status := v.evaluate(`fetch("v1/account/sessions").then(r => r.json()).then(r =>
		fetch("v1/account/sessions/" + r.sessions[0].id, {method: "DELETE"})).then(r => r.status)`)
	require.EqualValues(v.t, http.StatusOK, status)
	v.seeing("You have been signed out. Sign in to continue.") // by itself
	v.signIn("Ada Lovelace", "ada@example.com")
	v.await(`location.hash === "#/usage" && document.querySelector("h1").innerText === "Usage"`)
	encoded, err := json.Marshal(v.evaluate(`document.cookie`))
	require.NoError(v.t, err)
	require.NotContains(v.t, string(encoded), "svc-session")
}
