package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// slower is the factor by which the processor is throttled for the page.
const slower = 4

// BenchmarkConsole measures the page in a browser with a slow processor. A stub answers its requests immediately, so
// only the page is measured.
func BenchmarkConsole(b *testing.B) {
	page := httptest.NewServer(consoleWithoutService(b))
	b.Cleanup(page.Close)
	c := openBrowser(b)
	c.call("Emulation.setCPUThrottlingRate", map[string]any{"rate": slower}, nil)

	b.Run("FirstView", func(b *testing.B) {
		var total float64
		for i := range b.N {
			c.call("Network.clearBrowserCache", nil, nil)
			c.visit(fmt.Sprintf("%s/console?%d", page.URL, i))
			c.await(fmt.Sprintf(`location.search === "?%d" && document.querySelector(".voice-button bdi") &&
				document.querySelector(".balance")`, i))
			total += c.evaluate(`new Promise(done => {
				// the page is interactive when it has drawn typed text
				const field = document.querySelector("#text")
				field.value += "."
				field.dispatchEvent(new Event("input", {bubbles: true}))
				requestAnimationFrame(() => setTimeout(() => done(performance.now())))
			})`).(float64)
		}
		benchtest.Finish(b)
		b.ReportMetric(total/float64(b.N), "ms-interactive")
	})

	b.Run("Scroll", func(b *testing.B) {
		c.visit(page.URL + "/console?scroll#/clips")
		c.await(`document.querySelectorAll(".clips li:not(.blank)").length > 5`)
		var rate float64
		for range b.N {
			rate += c.evaluate(`new Promise(async done => {
				const list = document.querySelector(".clips.card"), begin = performance.now()
				list.scrollTop = 0
				for (let i = 0; i < 60; i++) {
					list.scrollTop += 150
					await new Promise(requestAnimationFrame)
				}
				done(60 / (performance.now() - begin) * 1000)
			})`).(float64)
		}
		benchtest.Finish(b)
		b.ReportMetric(rate/float64(b.N), "frames/s")
	})
}

// consoleWithoutService serves the built page and stub replies of an account with a million clips.
func consoleWithoutService(b *testing.B) http.Handler {
	b.Helper()
	const folder = "../../internal/http/console/dist/"
	html, err := os.ReadFile(folder + "index.html")
	require.NoError(b, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/console", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(strings.NewReplacer("{main.css}", "main.css", "{main.js}", "main.js").Replace(string(html))))
	})
	mux.Handle("/console/assets/", http.StripPrefix("/console/assets/", http.FileServer(http.Dir(folder))))
	for path, value := range map[string]any{
		"/auth/oauth/validate": map[string]any{"id": "1", "name": "Ada Lovelace", "email": "ada@example.com"},
		"/v1/account": map[string]any{
			"plan":  map[string]any{"type": "free", "character_limit": 15000},
			"usage": map[string]any{"characters": 41, "playground_characters": 0, "credit_characters": 0, "period_end": 2e9},
		},
		"/v1/ai/voice/list": []map[string]any{
			{"id": "leah", "name": "Leah", "state": "ready", "owner": "system", "type": "stock", "description": "Clear"}},
	} {
		reply, err := json.Marshal(value)
		require.NoError(b, err)
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(reply) })
	}
	mux.HandleFunc("/v1/account/clips", someClips)
	return mux
}

// someClips serves pages of a million clips.
func someClips(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.Atoi(r.FormValue("page_size"))
	page, _ := strconv.Atoi(r.FormValue("page"))
	clips := make([]map[string]any, size)
	for i := range clips {
		rank := max(0, page-1)*size + i
		clips[i] = map[string]any{
			"id": fmt.Sprintf("c%d", rank), "url": "/v1/none", "voice": "leah", "text": fmt.Sprintf("Clip number %d", rank),
			"timestamp": time.Now().Add(-time.Duration(rank) * time.Minute).Unix(), "speed": 1, "language": "en",
			"media_type": "audio/mpeg",
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"clips": clips, "total_clips": 1000000}) // the page may have left
}
