package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// network takes the page offline, or adds a latency in milliseconds.
func (v *viewer) network(offline bool, latency int) {
	v.t.Helper()
	v.call("Network.emulateNetworkConditions", map[string]any{"offline": offline, "latency": latency,
		"downloadThroughput": -1, "uploadThroughput": -1}, nil)
}

// watchingLoads counts placeholders during loading, and running animations.
const watchingLoads = `
	window.loads = 0
	window.moves = 0
	new MutationObserver(() => {
		if (!document.querySelector("main :is(.skeleton, .waiting)")) return
		loads++
		moves = Math.max(moves, document.getAnimations().length)
	}).observe(document.body, {childList: true, subtree: true}); 0`

// losesItsConnection opens each view offline. The view shows that it is offline, and loads by itself when the network
// is back. On a slow network it shows placeholders.
func (v *viewer) losesItsConnection() {
	v.evaluate(watchingLoads)
	for _, view := range accountViews {
		v.network(true, 0)
		v.evaluate(fmt.Sprintf(`location.hash = "#/%s"`, view))
		v.await(fmt.Sprintf(`document.querySelector("nav [aria-current]").hash === "#/%s" &&
			!document.querySelector("main :is(.skeleton, .waiting)")`, view))
		v.seeing("You are offline")
		if view == "voices" {
			v.look("offline")
		}
		v.network(false, 0)
		v.await(`document.querySelector("main h1") &&
			!document.querySelector("main :is(.skeleton, .waiting, .empty[role=alert], .notice.warning)")`)
	}
	v.prefersMotion("reduce")
	for _, view := range []string{"voices", "clips", "usage", "billing", "pronunciations"} {
		v.loadsSlowly(view)
	}
	assert.Zero(v.t, v.evaluate(`moves`), "an animation runs with prefers-reduced-motion")
	v.prefersMotion("no-preference")
	v.loadsSlowly("voices")
	assert.NotZero(v.t, v.evaluate(`moves`))
	v.network(false, 0)
}

func (v *viewer) loadsSlowly(view string) {
	v.t.Helper()
	v.network(false, 0)
	v.open("keys")
	v.evaluate(`loads = 0`)
	v.network(false, 300)
	v.open(view)
	v.await(`loads > 0 && !document.querySelector("main :is(.skeleton, .empty[role=alert], .notice)")`)
}

func (v *viewer) prefersMotion(value string) {
	v.t.Helper()
	v.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-reduced-motion", "value": value}}}, nil)
}

// seesOtherTabs renames a key in one tab and sees the name in another tab without a reload.
func (v *viewer) seesOtherTabs() {
	first := v.session
	address := v.server.address + "/console?another#/keys"
	v.openWindow(address)
	second := v.session
	v.requireTextIn("tbody bdi", "Website")
	v.session = first
	v.press("Rename")
	v.fill("dialog input", "By one tab")
	v.press("Save")
	v.session = second
	v.requireTextIn("tbody bdi", "By one tab")
	v.session = first
	v.call("Target.closeTarget", map[string]any{"targetId": v.window(address)}, nil)
}

// openWindow switches to a new window, which is drawn like the first one.
func (v *viewer) openWindow(address string) {
	v.t.Helper()
	var target struct{ TargetID string }
	v.call("Target.createTarget", map[string]any{"url": address, "newWindow": true}, &target)
	var attached struct{ SessionID string }
	v.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	v.enter(attached.SessionID)
}

// requireTextIn waits until an element shows a text.
func (v *viewer) requireTextIn(selector, text string) {
	v.t.Helper()
	v.await(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent === %q)`, selector, text))
}

// front is a balancer that forwards connections to one address, or refuses them.
type front struct {
	address string
	mu      sync.Mutex
	to      string
}

func openFront(t *testing.T) *front {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	f := &front{address: "http://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go f.pass(connection)
		}
	}()
	return f
}

func (f *front) lead(to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = to
}

func (f *front) pass(from net.Conn) {
	defer from.Close()
	f.mu.Lock()
	address := f.to
	f.mu.Unlock()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return // the browser sees a closed connection
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// develop starts an instance in mode dev that shares log, Postgres and secrets with others.
func (on services) develop(t *testing.T, publicURL string) *server {
	t.Helper()
	s := prepare(t, newFolder(t))
	flags := []string{"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--standins-addr=127.0.0.1:0", "--codecs=1",
		"--engines=1", "--data-dir=" + s.data, "--eventstore=" + on.events, "--postgres=" + on.postgres,
		"--blobs=" + on.blobs, "--public-url=" + publicURL}
	for name, secret := range on.secrets {
		path := filepath.Join(s.data, name)
		require.NoError(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
		flags = append(flags, "--"+name+"-file="+path)
	}
	s.launch(flags)
	t.Cleanup(s.kill)
	return s
}

func (s *server) awaitDeveloped() {
	s.t.Helper()
	s.eventually(func() bool { return addressLine.MatchString(s.said()) || s.hasEnded() })
	require.False(s.t, s.hasEnded(), "recitald did not start: %s", read(s.t, s.log))
	s.address, s.admin = s.told(addressLine), s.told(adminLine)
	s.eventually(s.isReady)
}

// unreached matches the browser's errors for requests to a killed instance.
var unreached = regexp.MustCompile(`net::ERR_(EMPTY_RESPONSE|CONNECTION|SOCKET)`)

// Pages at two instances show the same without a reload. When one instance is killed, its page reports that and
// continues at the other one by itself.
func TestTheConsoleOnTwoInstances(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	f := openFront(t)
	on := outsideServices(t)
	first := on.develop(t, f.address)
	second := on.develop(t, f.address)
	first.awaitDeveloped()
	second.awaitDeveloped()
	f.lead(first.address[len("http://"):])
	v := newViewer(t, &server{t: t, address: f.address, data: second.data})
	v.visit(f.address + "/console")
	v.signIn("Ada Lovelace", "ada@example.com")
	v.open("keys")
	v.press("Create a key")
	v.fill("dialog input", "First")
	v.evaluate(`document.querySelector("dialog form").requestSubmit()`)
	v.press("I have copied it")
	page := v.session

	// all ports of the host share the cookie, and the tabs share nothing else
	v.openWindow(second.address + "/console#/keys")
	other := v.session
	v.requireTextIn("tbody bdi", "First")
	v.session = page
	v.seesOtherChanges() // its stream is open
	v.session = other
	v.await(`document.querySelector("tbody bdi")?.innerText.startsWith("Elsewhere")`)

	// only one feeds the read models, but operators see both
	v.openWindow(second.admin + "/console")
	v.token("operator")
	v.await(`document.querySelectorAll("[aria-label=Instances] tbody tr").length === 2`)

	first.kill()
	v.session = page
	v.evaluate(`location.hash = "#/pronunciations"`)
	v.seeing("The service cannot be reached right now.")
	f.lead(second.address[len("http://"):])
	v.seeing("No words yet")
	v.open("keys")
	v.seesOtherChanges() // its stream to the other instance is open
	require.Empty(t, slices.DeleteFunc(v.errors, func(said string) bool {
		return expected.MatchString(said) || unreached.MatchString(said)
	}))
}
