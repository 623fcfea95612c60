package main_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watching runs before the page's scripts. It records clickable elements and the layout shift.
const watching = `
	window.shift = 0
	new PerformanceObserver(list => { for (const e of list.getEntries()) shift += e.value })
		.observe({type: "layout-shift", buffered: true})
	window.clickable = new Set()
	{
		const listen = EventTarget.prototype.addEventListener
		EventTarget.prototype.addEventListener = function (kind, ...rest) {
			if (["click", "mousedown", "pointerdown"].includes(kind) && this instanceof Element) clickable.add(this)
			return listen.call(this, kind, ...rest)
		}
	}`

// requireControls checks that all clickable elements can be reached by keyboard. Words have arrow keys, and the
// backdrop of a dialog has Escape.
func (v *viewer) requireControls(where string) {
	v.t.Helper()
	assert.Equal(v.t, "[]", v.evaluate(`JSON.stringify([...window.clickable ?? []].filter(e => e.isConnected &&
		!e.matches("a[href], button, input, select, summary, dialog, .transcript[tabindex]")).map(e => e.outerHTML))`), where)
}

// zoomed sets the viewport of a window of 1,440 by 900 pixels at 200 % zoom.
func (v *viewer) zoomed() {
	v.t.Helper()
	v.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": 720, "height": 450, "deviceScaleFactor": 2, "mobile": false}, nil)
}

// requireNoSidewaysScroll checks that the page soon needs no horizontal scrolling. The page is laid out again some time
// after its window has changed.
func (v *viewer) requireNoSidewaysScroll(where string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`/* %s */ document.documentElement.scrollWidth === document.documentElement.clientWidth`, where))
}

// keyboard holds the codes of keys and the texts that they type.
var keyboard = map[string]struct {
	code int
	text string
}{
	"Tab": {code: 9}, "Enter": {13, "\r"}, "Escape": {code: 27}, " ": {32, " "}, "ArrowLeft": {code: 37},
	"ArrowRight": {code: 39}, "a": {code: 65}, "z": {code: 90},
}

const control = 2 // the modifier

// hit presses a key and releases it.
func (v *viewer) hit(key string, modifiers int) {
	v.t.Helper()
	does := map[string]any{"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": keyboard[key].code,
		"modifiers": modifiers}
	if text := keyboard[key].text; text != "" {
		does["type"], does["text"] = "keyDown", text
	}
	if key == "a" && modifiers == control {
		does["commands"] = []string{"selectAll"}
	}
	v.call("Input.dispatchKeyEvent", does, nil)
	v.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key,
		"windowsVirtualKeyCode": keyboard[key].code, "modifiers": modifiers}, nil)
}

// types replaces the text of the field that has the focus.
func (v *viewer) types(text string) {
	v.t.Helper()
	v.hit("a", control)
	v.call("Input.insertText", map[string]any{"text": text}, nil)
}

// reach presses the tab key until an expression is true for the focused element e.
func (v *viewer) reach(which string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`[...document.querySelectorAll("*")].some(e => %s)`, which))
	for range 300 {
		if v.evaluate(fmt.Sprintf(`(e => %s)(document.activeElement)`, which)) == true {
			return
		}
		v.hit("Tab", 0)
	}
	require.Fail(v.t, "not reachable by keyboard: "+which)
}

// enters reaches a control by its text or label, and activates it.
func (v *viewer) enters(label string) {
	v.t.Helper()
	v.reach(fmt.Sprintf(`e.matches("button:enabled, a[href]") && [e.innerText?.trim(), e.ariaLabel].includes(%q)`, label))
	v.hit("Enter", 0)
}

// leavesDialog closes a dialog by Escape and checks that the focus returns.
func (v *viewer) leavesDialog(focused string) {
	v.t.Helper()
	v.await(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	v.hit("Escape", 0)
	v.unseen("dialog")
	v.await(fmt.Sprintf(`document.activeElement.matches(%q)`, focused))
}

// walk checks, at 200 % zoom, that the tab key reaches all controls of a view and that the focus is visible.
func (v *viewer) walk(view string) {
	v.t.Helper()
	v.open(view)
	v.requireNoSidewaysScroll(view + " at twice the size")
	stops := v.evaluate(`document.activeElement.blur()
		window.visited = new Set()
		window.unmarked = new Set()
		window.isMarked = e => {
			for (; e && e !== document.body; e = e.parentElement) {
				if (getComputedStyle(e).outlineStyle !== "none" || e.matches(".editor")) return true
			}
		}
		window.onfocusin ?? addEventListener("focusin", window.onfocusin = event => {
			visited.add(event.target)
			if (!isMarked(event.target) && !event.target.matches("main, h1")) unmarked.add(event.target)
		})
		document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex='0']").length +
			4 * document.querySelectorAll("[type=date], [type=datetime-local]").length`)
	for range int(stops.(float64)) + 5 {
		v.hit("Tab", 0)
	}
	assert.Equal(v.t, "[]", v.evaluate(`JSON.stringify([...document.querySelectorAll(
		"main :is(button, a, input, select, textarea, summary, [tabindex='0']):not(:disabled)")].filter(
		e => e.checkVisibility() && !visited.has(e)).map(e => e.outerHTML))`), "out of reach in %s", view)
	assert.Equal(v.t, "[]", v.evaluate(`JSON.stringify([...unmarked].map(e => e.outerHTML))`),
		"focus without a mark in %s", view)
}

var accountViews = strings.Fields("playground voices clips keys usage billing pronunciations security")

// walksByKeyboard goes through all actions without a mouse, at 200 % zoom.
func (v *viewer) walksByKeyboard() {
	v.zoomed()
	for _, view := range accountViews {
		v.walk(view)
	}
	v.open("playground")
	v.enters("Voices")
	v.await(`document.activeElement.matches("h1") && document.activeElement.innerText === "Voices"`)
	v.enters("Create a voice")
	v.leavesDialog(".primary")
	v.reach(`e.matches(".voices .icon[aria-pressed=false]")`)
	v.hit("Enter", 0)
	v.await(`document.querySelector(".voices .starred")`)

	v.makesAVoiceByKeyboard()
	v.speaksByKeyboard()
	v.typesLiveByKeyboard()
	v.looksAfterClipsByKeyboard()
	v.looksAfterKeysByKeyboard()
	v.changesSettingsByKeyboard()
	v.call("Emulation.clearDeviceMetricsOverride", nil, nil)
}

func (v *viewer) speaksByKeyboard() {
	v.open("playground")
	v.reach(`e.matches("button.voice-button")`)
	v.hit("Enter", 0)
	v.reach(`e.matches("dialog [type=search]")`)
	v.types("ava")
	v.await(`document.querySelectorAll("dialog .voices li").length === 1`)
	v.reach(`e.matches("dialog .choose")`)
	v.hit("Enter", 0)
	v.await(`document.activeElement.matches(".voice-button") && document.activeElement.innerText.includes("Ava")`)
	v.reach(`e.id === "text"`)
	v.types("One two three.")
	v.hit("Enter", control)
	v.await(`document.querySelectorAll(".transcript .said").length > 4`)
	v.reach(`e.matches(".transcript")`)
	v.hit("ArrowLeft", 0)
	v.await(`document.querySelector(".transcript .now")`)
	v.reach(`e.matches(".wave input")`)
	v.hit("ArrowRight", 0)
	v.enters("As code")
	v.leavesDialog("header .button")
}

// makesAVoiceByKeyboard records, plays, edits and deletes a voice.
func (v *viewer) makesAVoiceByKeyboard() {
	v.open("voices")
	v.enters("Create a voice")
	v.await(`document.activeElement.matches("dialog input")`)
	v.types("By keyboard")
	v.enters("Start recording")
	v.await(`parseInt(document.querySelector(".recording output")?.innerText.split(":")[1]) >= 5`)
	v.enters("Stop recording")
	v.await(`document.querySelector(".checked")`)
	v.enters("Create a voice")
	v.enters("The voice")
	v.enters("Stop: The voice")
	v.enters("Done")
	v.await(`document.activeElement.innerText?.trim() === "Create a voice"`)
	v.reach(`e.closest("li")?.innerText.startsWith("By keyboard") && e.innerText === "Edit"`)
	v.hit("Enter", 0)
	v.await(`document.activeElement.matches("dialog input")`)
	v.types("Renamed voice")
	v.hit("Enter", 0)
	v.unseen("dialog")
	v.requireText(".voices bdi", "Renamed voice")
	v.reach(`e.closest("li")?.innerText.startsWith("Renamed voice") && e.innerText === "Delete"`)
	v.hit("Enter", 0)
	v.reach(`e.matches("dialog input")`)
	v.types("delete")
	v.hit("Enter", 0)
	v.await(`![...document.querySelectorAll(".voices bdi")].some(e => e.innerText === "Renamed voice")`)
}

func (v *viewer) typesLiveByKeyboard() {
	v.open("playground")
	v.enters("Live")
	v.enters("Begin")
	v.await(`document.activeElement.id === "live" || !document.querySelector("#live").disabled`)
	v.reach(`e.id === "live"`)
	v.call("Input.insertText", map[string]any{"text": "Spoken by keys"}, nil)
	v.hit("Enter", 0)
	v.seeing("Spoken by keys")
	v.enters("Finish")
	v.seeing("Cost 15 characters.")
	v.enters("Text")
	v.await(`document.querySelector("#text")`)
}

func (v *viewer) looksAfterClipsByKeyboard() {
	v.open("clips")
	v.await(`document.querySelectorAll(".clips li").length > 2`)
	v.reach(`e.matches("button.about")`)
	v.hit("Enter", 0)
	v.leavesDialog("button.about")
	v.reach(`e.matches(".clips [type=checkbox]")`)
	v.hit(" ", 0)
	v.seeing("1 selected")
	v.enters("Delete the selected")
	v.await(`document.querySelector(".clips .removed")`)
	v.hit("z", control)
	v.unseen(".clips .removed")
}

func (v *viewer) looksAfterKeysByKeyboard() {
	v.open("keys")
	v.enters("Create a key")
	v.await(`document.activeElement.matches("dialog input")`)
	v.types("By keyboard")
	v.hit("Enter", 0)
	v.enters("I have copied it")
	v.requireText("tbody bdi", "By keyboard")
	v.enters("Rename")
	v.await(`document.activeElement.matches("dialog input")`)
	v.types("Renamed")
	v.hit("Enter", 0)
	v.requireText("tbody bdi", "Renamed")
	v.enters("Revoke")
	v.reach(`e.matches("dialog input")`)
	v.types("revoke")
	v.hit("Enter", 0)
	v.seeing("No keys yet")
}

func (v *viewer) changesSettingsByKeyboard() {
	v.open("usage")
	v.reach(`e.matches(".plot svg")`)
	v.hit("ArrowLeft", 0)
	v.await(`document.querySelector(".legend strong").innerText !== ""`)
	v.open("pronunciations")
	v.enters("Add a word")
	v.reach(`e.matches("dialog label:nth-of-type(1) input")`)
	v.types("Nguyen")
	v.reach(`e.matches("dialog label:nth-of-type(2) input")`)
	v.types("win")
	v.hit("Enter", 0)
	v.requireText("tbody bdi", "Nguyen")
	v.unseen("dialog")
	v.enters("Delete \u2068Nguyen\u2069")
	v.unseen("tbody tr")
	v.hit("z", control)
	v.await(`document.querySelector("tbody tr")`)
	v.open("security")
	v.reach(`e.role === "switch" || e.getAttribute("role") === "switch"`)
	v.hit(" ", 0)
	v.await(`!document.querySelector("[role=switch]").checked`)
	v.open("billing")
	v.enters("Subscribe to Indie")
	v.await(`location.pathname === "/console/card"`)
	v.enters("Back to billing")
	v.await(`document.querySelector("aside nav")`)
}

// operatesByKeyboard does the same on the operators' page.
func (v *viewer) operatesByKeyboard(id string) {
	v.zoomed()
	for _, view := range strings.Fields("overview models accounts log audit") {
		v.walk(view)
	}
	v.open("models")
	v.enters("Inspect voices, version 1, generation 1")
	v.leavesDialog("td .button")
	v.enters("Rebuild")
	v.reach(`e.matches("dialog .names input")`)
	v.hit(" ", 0)
	v.await(`document.querySelector("dialog .names input:checked")`)
	v.leavesDialog(".primary")
	v.open("accounts")
	v.reach(`e.matches("main input")`)
	v.types(id)
	v.hit("Enter", 0)
	v.seeing("Its life in the log")
	v.enters("Grant credit")
	v.leavesDialog(".button")
	v.open("log")
	v.reach(`e.matches("main input")`)
	v.types("account-opened")
	v.hit("Enter", 0)
	v.await(`[...document.querySelectorAll("tbody button")].every(b => b.ariaLabel === "Show account-opened")`)
	v.enters("Show account-opened")
	v.seeing("Personal data is sealed in the log")
	v.leavesDialog("td .button")
	v.open("audit")
	v.enters("Audit chain")
	v.enters("Check the log")
	v.seeing("The log matches its signed heads.")
	v.call("Emulation.clearDeviceMetricsOverride", nil, nil)
}
