package main_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// spokenBefore are the clips in the pictures, as voice and text.
var spokenBefore = [][2]string{
	{"morgan", "Chapter one. The harbour lay quiet under a thin autumn fog."},
	{"ava", "Your parcel is on its way and arrives on Thursday between nine and eleven."},
	{"leah", "Willkommen zurück! Ihre Bestellung wurde soeben verschickt."},
	{"zeke", "Turn left at the next crossing, then keep right for two kilometres."},
	{"lily", "Bonjour, et bienvenue au musée. La visite commence dans cinq minutes."},
	{"elowen", "Close your eyes, and let the day drift away, one breath at a time."},
	{"curtis", "The figures of the third quarter are better than all of us expected."},
	{"leah", "Thank you for calling. How can I help you today?"},
}

// aMonth replaces the replies about usage with those of a busy month, and anHour the figures of an instance with those
// of a busy hour.
const (
	aMonth = `
	const real = window.fetch
	const days = Array.from({length: 30}, (_, i) => {
		const day = new Date(Date.now() - i * 86400000)
		const busy = [0, 6].includes(day.getUTCDay()) ? 0.35 : 1
		return {day: day.toISOString().slice(0, 10),
			playground_chars_used: Math.round(busy * (700 + 400 * Math.sin(i * 1.7))),
			api_chars_used: Math.round(busy * (4600 - 60 * i + 1100 * Math.sin(i / 2.3)))}
	})
	const sum = name => days.reduce((all, day) => all + day[name], 0)
	window.fetch = async (address, ...rest) => {
		if (String(address).includes("daily_usage_history")) return Response.json(days)
		const reply = await real(address, ...rest)
		if (!String(address).endsWith("v1/account")) return reply
		const account = await reply.json()
		account.usage.characters = sum("api_chars_used")
		account.usage.playground_characters = sum("playground_chars_used")
		return Response.json(account)
	}; dispatchEvent(new Event("online"))`
	anHour = `
	const real = window.fetch
	window.fetch = (address, ...rest) => {
		if (!String(address).includes("admin/figures")) return real(address, ...rest)
		return Promise.resolve(Response.json({every: 30, figures: Array.from({length: 120}, (_, i) => {
			const wave = Math.sin(i / 11) + 0.5 * Math.sin(i / 2.9)
			return {at: new Date(Date.now() - (119 - i) * 30000).toISOString(), requests: 900, syntheses: 300,
				errors: i === 71 ? 2 : i === 72 ? 1 : 0, failures: i === 72 ? 1 : 0,
				characters: Math.round(30 * (420 + 130 * wave + i)), first_audio: 0.05 + 0.01 * Math.round(wave + 1),
				first_audio_p95: 0.1 + 0.05 * Math.round(wave + 1)}
		})}))
	}; dispatchEvent(new Event("online"))`
)

// TestThePicturesOfTheConsole takes the pictures of docs/console.md. Look at them before you commit them.
func TestThePicturesOfTheConsole(t *testing.T) {
	if os.Getenv(screenshotsVariable) == "" {
		t.Skip(screenshotsVariable + " names no folder for the pictures")
	}
	s := start(t, dataFolder(t))
	s.eventually(func() bool { return len(s.products()) == 4 })
	v := newViewer(t, s)
	v.call("Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, nil)
	v.visit(s.address + "/console")
	v.signIn("Ada Lovelace", "ada@example.com")
	v.open("billing")
	v.press("Subscribe to Indie")
	v.paysBy("4242 4242 4242 4242")
	v.isOn("Indie")
	v.shows("billing", "dark")
	for _, clip := range spokenBefore {
		v.eventually(fmt.Sprintf(`fetch("v1/ai/speech/bytes", {method: "POST", headers: {"Content-Type": "application/json"},
			body: JSON.stringify({voice: %q, text: %q})}).then(async r => (await r.arrayBuffer()).byteLength > 1000)`,
			clip[0], clip[1]))
	}

	v.open("voices")
	recording := filepath.Join(t.TempDir(), "ada.wav")
	require.NoError(t, os.WriteFile(recording, s.reference(t, "wav", 400), 0o600))
	v.press("Create a voice")
	v.fill("dialog input", "Ada")
	v.press("Files")
	v.choose("dialog input[type=file]", recording)
	v.await(`document.querySelector(".checked strong")`)
	v.submit()
	v.press("Done")
	v.await(`document.querySelectorAll(".voices li").length === 10`)
	v.evaluate(`[...document.querySelectorAll(".voices [aria-pressed=false].icon")].filter((_, i) => i % 4 === 0)
		.forEach(star => star.click())`)
	v.await(`document.querySelectorAll(".voices .starred").length === 3`)
	v.shows("voices", "dark")

	v.open("playground")
	v.click(`[aria-label="Hide the first steps"]`)
	v.fill("#text", "Every voice has a story to tell. Listen closely, and the words light up as they are spoken, "+
		"one after the other.")
	v.press("Speak")
	v.await(`document.querySelector('.player [aria-label="Play"]') &&
		document.querySelectorAll(".transcript .said").length > 30`)
	v.evaluate(`[...document.querySelectorAll(".transcript .w")].find(w => w.textContent === "light").click()`)
	v.await(`document.querySelector(".transcript .now")`)
	v.evaluate(`document.querySelector('.player [aria-label="Pause"]')?.click()`)
	v.shows("playground", "light")
	v.open("clips")
	v.await(`document.querySelectorAll(".clips li").length > 8`)
	v.shows("clips", "light")
	v.evaluate(aMonth)
	v.open("usage")
	v.await(`document.querySelectorAll(".bar").length > 20`)
	v.shows("usage", "light")

	v.visit(s.admin + "/console")
	v.token("operator")
	v.evaluate(anHour)
	v.await(`document.querySelectorAll(".lines path").length > 4 && document.querySelector(".findings li")`)
	v.eventually(`new Promise(done => { dispatchEvent(new Event("online")); setTimeout(
		() => done([...document.querySelectorAll(".findings .badge")].every(part => part.matches(".good"))), 1000) })`)
	v.shows("operators", "dark")
}

// shows takes a picture of the page for the guide.
func (v *viewer) shows(name, scheme string) {
	v.t.Helper()
	v.unseen(".toast")
	v.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	v.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
	v.evaluate(`new Promise(done => setTimeout(done, 500))`) // the plots are laid out again
	var picture struct{ Data string }
	v.call("Page.captureScreenshot", map[string]any{"format": "webp", "quality": 88}, &picture)
	content, err := base64.StdEncoding.DecodeString(picture.Data)
	require.NoError(v.t, err)
	require.NoError(v.t, os.WriteFile(filepath.Join(v.folder, "console-"+name+".webp"), content, 0o600))
}
