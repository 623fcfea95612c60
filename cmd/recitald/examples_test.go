package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// examples is the folder of the example programs.
const examples = "../../examples"

// Each program synthesises a text and writes the audio.
func TestTheExamplesSpeak(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios: it needs Node and Python")
	}
	t.Parallel()
	s := share(t)
	for name, example := range map[string]struct {
		program []string
		file    string
		prints  string // a regular expression
		said    string
	}{
		"curl": {[]string{"sh", "curl/speak.sh"}, "hello.mp3", `"audio": ?"…".*"text": ?"curl"`,
			"Hello from curl.Hello from curl."},
		"Go":   {[]string{goExample(t, "go")}, "hello.mp3", `^hello\.mp3: \d+ bytes, 14 characters\n$`, "Hello from Go."},
		"Node": {[]string{"node", "node/speak.mjs"}, "hello.mp3", `^hello\.mp3: 16 characters\n$`, "Hello from Node."},
		"Python": {[]string{"python3", "python/speak.py"}, "hello.mp3", `^hello\.mp3: 18 characters\n$`,
			"Hello from Python."},
		"a language model": {[]string{goExample(t, "llm")}, "answer.mp3", `(?s)^ +0\.\d\d  The\n +\d\.\d\d  sky\n.*  all\n`,
			"The sky is blue, because air scatters blue light most. That is all."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := s.openAccount("pro")
			folder := t.TempDir()
			program := bintest.Tool(t, example.program[0])
			if name == "curl" {
				bintest.Tool(t, "curl")
			}
			var args []string
			for _, script := range example.program[1:] {
				path, err := filepath.Abs(filepath.Join(examples, script))
				require.NoError(t, err)
				args = append(args, path)
			}
			command := exec.CommandContext(t.Context(), program, args...)
			command.Dir = folder
			command.Env = append(os.Environ(), "RECITAL_ADDRESS="+s.address, "RECITAL_KEY="+account.key)
			require.Regexp(t, regexp.MustCompile(example.prints), output(t, command))
			require.Greater(t, len(read(t, filepath.Join(folder, example.file))), 5000)
			require.True(t, account.isCharged(t, []string{example.said}))
		})
	}
}

// goExample builds an example in Go.
func goExample(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	runProgram(t, filepath.Join(examples, name), bintest.Tool(t, "go"), "build", "-o", path, ".")
	return path
}

// The page starts to play before all audio has arrived.
func TestTheExamplePagePlaysWhileItStreams(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	slow := newHeldProxy(t, s.address, 16<<10)
	page := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(examples, "browser"))))
	t.Cleanup(page.Close)
	account := s.openAccount("pro")
	b := openBrowser(t)

	// when the page has received only the first seconds of speech
	text := strings.Repeat("This is spoken in the browser. ", 8)
	b.visit(page.URL)
	b.await(`document.readyState === "complete"`) // the form has its script
	b.fill("[name=address]", slow.address)
	b.fill("[name=key]", account.key)
	b.fill("[name=text]", text)
	b.click("button")

	// then they are played already
	b.await(`document.querySelector("audio")?.currentTime > 0.5`)
	require.Equal(t, "", b.evaluate(`document.querySelector("output").value`))

	// and when the rest arrives, it is complete
	slow.release()
	b.await(`document.querySelector("output").value === "all of it has arrived"`)
	b.await(`document.querySelector("audio").ended`)
	require.Greater(t, b.evaluate(`document.querySelector("audio").duration`), 10.0)
	require.True(t, account.isCharged(t, []string{text}))

	// a wrong key is explained
	b.fill("[name=key]", "rk_wrong")
	b.click("button")
	b.await(`document.querySelector("output").value.startsWith("401: ")`)
}

// heldProxy forwards requests. It holds back all but the first bytes of replies to POST requests until it is released.
type heldProxy struct {
	address string
	release func()
}

func newHeldProxy(t *testing.T, address string, size int64) heldProxy {
	t.Helper()
	to, err := url.Parse(address)
	require.NoError(t, err)
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(response *http.Response) error {
		if response.Request.Method != http.MethodPost {
			return nil
		}
		body := response.Body
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(body, size), waiting{released}, body), body}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	t.Cleanup(release) // before the server is closed, which waits for replies
	return heldProxy{server.URL, release}
}

// waiting is a reader that blocks until a channel is closed.
type waiting struct{ until <-chan struct{} }

// Read returns io.EOF when the channel is closed.
func (w waiting) Read([]byte) (int, error) {
	<-w.until
	return 0, io.EOF
}
