package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/bintest"
)

// browser is a headless Chromium with one page, driven by the DevTools protocol over pipes: messages are JSON
// terminated by a zero byte.
type browser struct {
	t       testing.TB
	to      io.Writer
	from    *bufio.Reader
	session string
	calls   int

	asked  []string // the URLs of all requests of the page
	errors []string // its errors on the console
}

// openBrowser starts Chromium, which has to be installed.
func openBrowser(t testing.TB) *browser {
	t.Helper()
	return openBrowserWith(t, "{}")
}

// openBrowserWith starts Chromium with preferences, in JSON, and additional flags.
func openBrowserWith(t testing.TB, preferences string, flags ...string) *browser {
	t.Helper()
	program := bintest.Tool(t, "chromium", "chromium-browser", "google-chrome")
	in, commands, err := os.Pipe()
	require.NoError(t, err)
	replies, out, err := os.Pipe()
	require.NoError(t, err)
	folder, err := os.MkdirTemp("", "recital-browser-")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "Default"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Default", "Preferences"), []byte(preferences), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	flags = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--autoplay-policy=no-user-gesture-required", "--window-size=1400,1600",
		"--user-data-dir=" + folder, "--remote-debugging-pipe"}, flags...)
	command := exec.CommandContext(ctx, program, append(flags, "about:blank")...)
	command.ExtraFiles = []*os.File{in, out} // descriptors 3 and 4 of the child
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	require.NoError(t, command.Start())
	require.NoError(t, in.Close())
	require.NoError(t, out.Close())
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // it was killed
		_ = commands.Close()
		_ = replies.Close()
		_ = os.RemoveAll(folder)
	})
	b := &browser{t: t, to: commands, from: bufio.NewReader(replies)}
	b.openPage()
	return b
}

func (b *browser) openPage() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.enter(attached.SessionID)
}

// enter switches to another page.
func (b *browser) enter(session string) {
	b.t.Helper()
	b.session = session
	for _, domain := range []string{"Network", "Log", "Runtime", "Page"} {
		b.call(domain+".enable", nil, nil)
	}
}

// message is a response, or an event of the page.
type message struct {
	ID     int
	Method string
	Params struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text string }
		Type             string
		ExceptionDetails json.RawMessage
	}
	Result json.RawMessage
	Error  json.RawMessage
}

// call waits for the response, which must not be an error.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	answer := b.ask(method, params)
	require.Empty(b.t, answer.Error, "%s: %s", method, answer.Error)
	if result != nil {
		require.NoError(b.t, json.Unmarshal(answer.Result, result))
	}
}

// ask waits for the response and records the page's events meanwhile.
func (b *browser) ask(method string, params map[string]any) message {
	b.t.Helper()
	b.calls++
	encoded, err := json.Marshal(map[string]any{"id": b.calls, "sessionId": b.session, "method": method, "params": params})
	require.NoError(b.t, err)
	if b.session == "" {
		encoded, err = json.Marshal(map[string]any{"id": b.calls, "method": method, "params": params})
		require.NoError(b.t, err)
	}
	_, err = b.to.Write(append(encoded, 0))
	require.NoError(b.t, err)
	for {
		raw, err := b.from.ReadBytes(0)
		require.NoError(b.t, err, "the browser has ended")
		var m message
		require.NoError(b.t, json.Unmarshal(raw[:len(raw)-1], &m))
		b.note(m, raw)
		if m.ID == b.calls {
			return m
		}
	}
}

func (b *browser) note(m message, raw []byte) {
	switch {
	case m.Method == "Network.requestWillBeSent":
		b.asked = append(b.asked, m.Params.Request.URL)
	case m.Method == "Log.entryAdded" && m.Params.Entry.Level == "error":
		b.errors = append(b.errors, m.Params.Entry.Text)
	case m.Method == "Runtime.exceptionThrown", m.Method == "Runtime.consoleAPICalled" && m.Params.Type == "error":
		b.errors = append(b.errors, string(raw))
	}
}

func (b *browser) visit(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": address}, nil)
}

// inWindow opens an address in a new window of the page and calls do in it.
func (b *browser) inWindow(address string, do func()) {
	b.t.Helper()
	page := b.session
	b.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("void open(%q)", address), "userGesture": true},
		nil)
	var window string
	require.Eventually(b.t, func() bool {
		var targets struct {
			TargetInfos []struct{ TargetID, URL string }
		}
		b.call("Target.getTargets", nil, &targets)
		for _, target := range targets.TargetInfos {
			if target.URL == address {
				window = target.TargetID
			}
		}
		return window != ""
	}, patience, pause)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": window, "flatten": true}, &attached)
	b.enter(attached.SessionID)
	do()
	b.session = page
}

// evaluate returns the value of a JavaScript expression, which may be a promise, in the page.
func (b *browser) evaluate(expression string) any {
	b.t.Helper()
	value, left := b.evaluateIn(expression)
	require.False(b.t, left, "%s: the page was left", expression)
	return value
}

// evaluateIn also reports whether the page was left meanwhile. Then there is no value.
func (b *browser) evaluateIn(expression string) (value any, left bool) {
	b.t.Helper()
	var evaluated struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	answer := b.ask("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true})
	for _, words := range []string{"navigated or closed", "context was destroyed", "Cannot find context"} {
		if bytes.Contains(answer.Error, []byte(words)) {
			return nil, true
		}
	}
	require.Empty(b.t, answer.Error, "%s: %s", expression, answer.Error)
	require.NoError(b.t, json.Unmarshal(answer.Result, &evaluated))
	require.Empty(b.t, evaluated.ExceptionDetails, expression)
	return evaluated.Result.Value, false
}

// await waits until an expression is true, in the page or in one that follows it.
func (b *browser) await(expression string) {
	b.t.Helper()
	came, left := any(nil), true
	for left {
		came, left = b.evaluateIn(fmt.Sprintf(`new Promise(done => {
			const end = Date.now() + %d
			const look = () => (%s) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, %d)
			look()
		})`, patience.Milliseconds(), expression, pause.Milliseconds()))
	}
	require.Equal(b.t, true, came, "never true: %s\n%v\n%s", expression, b.errors, b.evaluate("document.body.innerText"))
}

// awaitAddress waits until the page's address contains a text. It may be called while the page is being left.
func (b *browser) awaitAddress(text string) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		var history struct {
			CurrentIndex int
			Entries      []struct{ URL string }
		}
		answer := b.ask("Page.getNavigationHistory", nil)
		if answer.Error == nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, &history))
			if strings.Contains(history.Entries[history.CurrentIndex].URL, text) {
				return
			}
		}
		require.True(b.t, time.Now().Before(end), "the page never came to %s, but to %v (%s)", text, history.Entries,
			answer.Error)
	}
}

// click waits for an element and clicks on it.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.querySelector(%q)", selector))
	b.evaluate(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// fill types into a field and leaves it, so that the page accepts the text at once.
func (b *browser) fill(selector, text string) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.querySelector(%q)", selector))
	b.evaluate(fmt.Sprintf(`(field => {
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), "value").set.call(field, %q)
		field.dispatchEvent(new Event("input", {bubbles: true}))
		field.dispatchEvent(new FocusEvent("focusout", {bubbles: true}))
	})(document.querySelector(%q))`, text, selector))
}
