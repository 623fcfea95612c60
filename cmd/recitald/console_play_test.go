package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

const (
	// mostRows is the maximum number of rows of a list in the document, however long the list is.
	mostRows = 200
	// mostShift is the maximum layout shift of the first view.
	mostShift = 0.02
	// instrumented runs before the page's scripts. It records the reports of the audio thread.
	instrumented = `
		window.frames = []
		window.AudioWorkletNode = class extends AudioWorkletNode {
			constructor(...all) {
				super(...all)
				this.port.addEventListener("message", e => frames.push(e.data.at))
			}
		}`
)

// TestTheConsolePlays plays a text during its synthesis, types into a live session, browses many clips, and records a
// voice with the microphone.
func TestTheConsolePlays(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	recording := filepath.Join(t.TempDir(), "microphone.wav")
	require.NoError(t, os.WriteFile(recording, s.reference(t, "wav", 300), 0o600))
	v := viewerOf(openBrowserWith(t, "{}", "--use-fake-ui-for-media-stream",
		"--use-fake-device-for-media-stream", "--use-file-for-fake-audio-capture="+recording), s)
	v.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": instrumented}, nil)

	v.visit(s.address + "/console")
	v.signIn(hostile, "eve@example.com")
	for _, part := range []struct {
		name, view string
		uses       func(*viewer)
	}{
		{"first view", "playground", (*viewer).requireStill},
		{"socket", "playground", (*viewer).hearsTheSocket}, {"live", "playground", (*viewer).typesLive},
		{"markup", "playground", (*viewer).writesMarkup}, {"without sockets", "playground", (*viewer).hearsWithoutSockets},
		{"history", "playground", (*viewer).takesFromHistory}, {"clip", "clips", (*viewer).opensAClip},
		{"filters", "clips", (*viewer).filtersClips}, {"million", "clips", (*viewer).scrollsAMillion},
		{"microphone", "voices", (*viewer).recordsAVoice}, {"keyboard", "clips", (*viewer).walksByKeyboard},
	} {
		t.Run(part.name, func(t *testing.T) {
			v.of(t, func() {
				v.visit(s.address + "/console?" + strings.ReplaceAll(part.name, " ", "-"))
				v.await(`document.querySelector("aside nav")`)
				v.open(part.view)
				part.uses(v)
			})
		})
	}
	v.requireOneHost()
}

// requireStill measures the layout shift while the first view loads, on a fast and on a slow network.
func (v *viewer) requireStill() {
	for _, latency := range []int{0, 400} {
		v.network(false, latency)
		v.visit(fmt.Sprintf("%s/console?latency=%d", v.server.address, latency))
		v.await(`document.querySelector(".voice-button bdi") && document.querySelector(".balance")`)
		v.evaluate(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
		require.LessOrEqual(v.t, v.evaluate(`shift`), mostShift, "with %d ms of latency", latency)
	}
	v.network(false, 0)
}

func (v *viewer) hearsTheSocket() {
	v.asked = nil
	v.fill("#text", "One two three four. Five six seven eight.")
	v.press("Speak")
	v.await(`frames.length > 3 && frames.every((at, i) => i === 0 || at > frames[i - 1])`)
	v.await(`document.querySelector(".transcript .now")`)
	v.await(`document.querySelector('.player [aria-label="Play"]')`)
	require.Equal(v.t, true, v.evaluate(`frames.at(-1) > 24000`), "the whole audio was played")
	require.NotContains(v.t, strings.Join(v.asked, " "), "/v1/ai/speech/bytes")
	v.seeing("Already made: no cost")
	v.eventually(`fetch("v1/account/clips").then(r => r.json()).then(r => r.clips[0]?.media_type === "audio/wav")`)
	v.look("playground-socket")
}

// hearsWithoutSockets plays in a browser behind a proxy that does not support WebSockets.
func (v *viewer) hearsWithoutSockets() {
	v.asked = nil
	v.evaluate(`window.WebSocket = class { constructor() { setTimeout(() => this.onclose({code: 1006})) } close() {} }; 0`)
	v.fill("#text", "One two three four.")
	v.press("Speak")
	v.await(playedTo("> 0"))
	v.await(`document.querySelectorAll(".transcript .said").length > 5`)
	require.Contains(v.t, strings.Join(v.asked, " "), "/v1/ai/speech/bytes")
}

func (v *viewer) typesLive() {
	v.press("Live")
	v.press("Begin")
	v.await(`!document.querySelector("#live").disabled`)
	v.await(`document.querySelector(".result")`)
	require.NotContains(v.t, v.evaluate(`document.querySelector(".result").innerText`), "One two", "the previous text")
	v.look("playground-live")
	v.fill("#live", "Hello my friends, how are ")
	v.seeing("Hello my friends, how are")
	require.Empty(v.t, v.evaluate(`document.querySelector("#live").value`))
	v.fill("#live", "you")
	v.evaluate(`document.querySelector(".typing").requestSubmit()`)
	v.await(`frames.length > 3`)
	v.fill("#live", "I am fine. ")
	v.press("Finish")
	v.seeing("Cost 41 characters.")
	v.await(`document.querySelector('.player [aria-label="Play"]')`)
	v.await(`document.querySelectorAll(".transcript .said").length > 14`)
}

func (v *viewer) writesMarkup() {
	text := `<speak>One <break time="1s"/> &amp; <emphasis level='strong'>two</emphasis> <!-- a note --> <sc`
	v.fill("#text", text)
	v.await(`document.querySelectorAll(".ssml-tag").length === 4`)
	v.seeing("Markup is not counted.")
	require.Equal(v.t, text+"\n", v.evaluate(`document.querySelector(".copy").textContent`))
	require.Equal(v.t, `"1s"`, v.evaluate(`document.querySelector(".ssml-value").textContent`))
	v.look("playground-markup")
	v.fill("#text", `<speak>One <break time="100ms"/> two</speak>`)
	v.press("Speak")
	v.await(playedTo("> 0"))
	v.fill("#text", "plain")
	v.unseen(".copy")
}

func (v *viewer) takesFromHistory() {
	v.press("History")
	v.await(`document.querySelectorAll(".history li").length > 1`)
	v.look("playground-history")
	v.evaluate(`[...document.querySelectorAll(".history button")].find(b => b.innerText.includes("Five six")).click()`)
	v.unseen("dialog")
	v.await(`document.querySelector("#text").value === "One two three four. Five six seven eight."`)
}

func (v *viewer) opensAClip() {
	v.await(`document.querySelector(".clips button.about")`)
	v.evaluate(`[...document.querySelectorAll(".clips button.about")].find(b => b.innerText.includes("Five six")).click()`)
	v.await(`document.querySelector("dialog .wave rect[height='44']")`) // the loudest bar of its waveform
	v.press("Play")
	v.await(playedTo("> 0"))
	v.press("Find the times of its words")
	v.await(`document.querySelectorAll("dialog .transcript .w").length >= 8`)
	v.await(`document.querySelector("dialog .transcript .said")`)
	v.look("clip")
	v.evaluate(`window.saved = []
		URL.createObjectURL = blob => { blob.text().then(text => saved.push(text)); return "about:blank" }
		HTMLAnchorElement.prototype.click = () => {}; 0`)
	v.press("Word times")
	v.await(`/^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\nOne two three four\.\n\n2\n/.test(saved[0] ?? "")`)
	v.evaluate(`(as => { as.value = "json"; as.dispatchEvent(new Event("change", {bubbles: true})) })(
		document.querySelector("dialog select"))`)
	v.await(`document.querySelector("dialog select").value === "json"`)
	v.press("Word times")
	v.await(`saved[1] && JSON.parse(saved[1]).map(word => word.text).join(" ").startsWith("One two three")`)
	v.press("Close")
}

// filter sets a field of the clips' filters.
func (v *viewer) filter(label, value string) {
	v.t.Helper()
	v.evaluate(fmt.Sprintf(`(field => { field.value = %q; field.dispatchEvent(new Event("change", {bubbles: true})) })(
		document.querySelector('[aria-label=%q]'))`, value, label))
}

func (v *viewer) filtersClips() {
	v.await(`document.querySelectorAll(".clips li").length > 2`)
	v.fill("input[type=search]", "SEVEN one")
	v.seeing("1 of the newest 500")
	v.await(`document.querySelectorAll(".clips li").length === 1`)
	v.fill("input[type=search]", "no clip has this text")
	v.seeing("No clips match")
	v.press("Show all clips")
	v.filter("Format", "audio/aac")
	v.seeing("No clips match")
	v.filter("Format", "audio/wav")
	v.await(`document.querySelectorAll(".clips li").length > 1`)
	v.filter("Format", "")
	v.filter("Voice", "ava")
	v.seeing("No clips match")
	v.filter("Voice", "leah")
	v.await(`document.querySelectorAll(".clips li").length > 2`)
	v.evaluate(`document.querySelector(".clip-filters details").open = true`)
	v.fill(".dates input", "2099-01-01")
	v.seeing("No clips match")
	v.fill(".dates input", "2020-01-01")
	v.await(`document.querySelectorAll(".clips li").length > 2`)
	v.look("clips-filtered")

	// several clips are deleted together, and the deletion is undone
	v.evaluate(`[...document.querySelectorAll(".clips li input")].slice(0, 2).forEach(box => box.click())`)
	v.seeing("2 selected")
	v.look("clips-selected")
	v.press("Delete the selected")
	v.await(`document.querySelectorAll(".clips .removed").length === 2`)
	v.press("Undo")
	v.unseen(".clips .removed")
}

// aMillion replaces the replies about clips with those of a million clips.
const aMillion = `
	const real = window.fetch
	window.pagesRead = 0
	window.fetch = (address, ...rest) => {
		if (!String(address).includes("v1/account/clips?")) return real(address, ...rest)
		pagesRead++
		const query = new URL(address, location).searchParams
		const size = Number(query.get("page_size")), first = (Number(query.get("page")) - 1) * size
		if (query.has("since")) return Promise.resolve(Response.json({clips: [], total_clips: 654321}))
		return Promise.resolve(Response.json({total_clips: 1000000, clips: Array.from({length: size}, (_, i) => ({
			id: "c" + (first + i), url: "/v1/none", voice: "leah", timestamp: 1700000000 - first - i,
			text: "Clip number " + (first + i), speed: 1, language: "en", media_type: "audio/mpeg"}))}))
	}; dispatchEvent(new Event("online"))`

func (v *viewer) scrollsAMillion() {
	v.evaluate(aMillion + "; 0")
	v.seeing("1,000,000 clips")
	v.seeing("Clip number 0")
	v.evaluate(`window.list = document.querySelector(".clips.card"); window.most = 0
		new MutationObserver(() => { most = Math.max(most, document.querySelectorAll(".clips li").length) })
			.observe(list, {childList: true, subtree: true})
		window.inSight = () => [...document.querySelectorAll(".clips li")].map(li => [li, li.getBoundingClientRect()])
			.filter(([li, at]) => at.top >= list.getBoundingClientRect().top - 1 &&
				at.bottom <= list.getBoundingClientRect().bottom + 1)
			.map(([li]) => Number(/Clip number (\d+)/.exec(li.innerText)?.[1] ?? -1))
		0`)
	require.Less(v.t, v.evaluate(`list.scrollHeight`), 16e6, "within the maximum height of browsers")

	// the scroll bar leads to a proportional rank
	v.evaluate(`list.scrollTop = (list.scrollHeight - list.clientHeight) / 2`)
	v.await(`inSight().length > 3 && Math.abs(inSight()[0] - 500000) < 50`)
	// the mouse wheel scrolls by pixels
	v.evaluate(`window.before = inSight()[0]; list.scrollTop += 144`)
	v.await(`inSight()[0] === before + 2`)
	v.evaluate(`list.scrollTop = list.scrollHeight`)
	v.await(`inSight().at(-1) === 999999`)
	v.evaluate(`list.scrollTop = 0`)
	v.await(`inSight()[0] === 0`)
	// a date leads to the first clip of the day
	v.evaluate(`document.querySelector(".clip-filters details").open = true`)
	v.fill(".jump input", "2023-11-14")
	v.evaluate(`document.querySelector(".jump").requestSubmit()`)
	v.await(`inSight()[0] === 654321`)

	v.evaluate(`pagesRead = 0; new Promise(async done => {
		for (let i = 0; i <= 200; i++) {
			list.scrollTop = (list.scrollHeight - list.clientHeight) * i / 200
			await new Promise(requestAnimationFrame)
		}
		done()
	})`)
	v.await(`inSight().at(-1) === 999999`)
	require.LessOrEqual(v.t, v.evaluate(`most`), float64(mostRows))
	require.Greater(v.t, v.evaluate(`most`), 5.0)
	require.Less(v.t, v.evaluate(`pagesRead`), 400.0)
	v.look("clips-million")
}

func (v *viewer) recordsAVoice() {
	v.press("Create a voice")
	v.fill("dialog input", "By microphone")
	v.press("Start recording")
	v.await(`document.querySelector("dialog meter")?.value > -40`)
	v.look("voice-recording")
	v.await(`/^0:1\d/.test(document.querySelector(".recording output")?.innerText)`) // at least ten seconds
	v.press("Stop recording")
	v.await(`document.querySelector(".checked strong")`)
	require.Regexp(v.t, `^Quality \d\.\d of 5: `, v.evaluate(`document.querySelector(".checked strong").innerText`))
	require.Equal(v.t, true, v.evaluate(`document.querySelectorAll(".checked .used").length > 20`))
	v.look("voice-recorded")
	v.submit()
	v.seeing("Compare")
	v.await(`document.querySelectorAll(".compare .round").length === 2`)
	v.look("voice-compare")
	v.press("The voice")
	v.await(`document.querySelector('[aria-label="Stop: The voice"]')`)
	v.press("Done")
	v.requireText(".voices bdi", "By microphone")
	require.Equal(v.t, http.StatusOK, v.server.accountBy(v.server.key))
}
