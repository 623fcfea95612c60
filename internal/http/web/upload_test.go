package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/http/web"
)

const mib = 1 << 20

type uploadIn struct {
	web.IdempotencyKey
	Name  string     `body:"name"`
	Files []web.File `body:"files" alias:"files[],file"`
}

// received is the input of a route.
type received struct {
	Name    string   `json:"name"`
	Files   []string `json:"files"` // name, type, size and whether the hash is correct
	Content string   `json:"content"`
}

func receive(call *web.Call, in uploadIn) (web.Reply, error) {
	r, err := web.RepetitionOf(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	got := received{Name: in.Name, Content: r.Content}
	for _, file := range in.Files {
		hash := sha256.New()
		if _, err := io.Copy(hash, file.Content); err != nil {
			return web.Reply{}, err
		}
		got.Files = append(got.Files, fmt.Sprint(file.Name, " ", file.ContentType, " ", file.Content.Size(), " ",
			hex.EncodeToString(hash.Sum(nil)) == file.SHA256))
	}
	return web.JSON(got), nil
}

// uploadSite is a server with a route for uploads of up to 100 MiB, and space for 1 GiB.
type uploadSite struct {
	*site
	spool *spool.Spool
	dir   string
	seen  chan web.Observation
}

func takingUploads(t testing.TB, cfg web.Config) *uploadSite {
	u := &uploadSite{dir: filepath.Join(t.TempDir(), "uploads"), seen: make(chan web.Observation, 10_000)}
	var err error
	u.spool, err = spool.Open(spool.Config{Dir: u.dir, Budget: 1024 * mib, MaxFile: 100 * mib})
	require.NoError(t, err)
	cfg.Uploads, cfg.Observe = u.spool, func(o web.Observation) { u.seen <- o }
	cfg.Routes = append(cfg.Routes, web.Post("/upload", receive, web.Uploads(100*mib), web.MaxBody(64<<10)),
		web.Get("/ok", ok, web.Public()))
	if cfg.Limits.Uploads == 0 {
		cfg.Limits.Uploads, cfg.Limits.AddressUploads = 1024*mib, 1024*mib
	}
	u.site = start(t, cfg)
	return u
}

// requireNothingHeld checks that uploads have released all space, and that no file has a name.
func (u *uploadSite) requireNothingHeld() {
	u.t.Helper()
	require.Eventually(u.t, func() bool { return u.spool.Claimed() == 0 }, time.Minute, time.Millisecond)
	left, err := os.ReadDir(u.dir)
	require.NoError(u.t, err)
	require.Empty(u.t, left)
}

type formPart struct {
	name, file, content string
}

// formOf returns a multipart body with the boundary "b".
func formOf(parts ...formPart) string {
	var body strings.Builder
	w := multipart.NewWriter(&body)
	_ = w.SetBoundary("b")
	for _, p := range parts {
		if p.file == "" {
			_ = w.WriteField(p.name, p.content)
			continue
		}
		to, _ := w.CreateFormFile(p.name, p.file)
		_, _ = io.WriteString(to, p.content)
	}
	_ = w.Close()
	return body.String()
}

// uploadHead returns the head of a request with a form of the given length.
func uploadHead(length int, more ...string) string {
	return fmt.Sprintf("POST /upload HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: multipart/form-data; "+
		"boundary=b\r\nContent-Length: %d\r\n%s\r\n",
		goodKey, length, strings.Join(append(more, ""), "\r\n"))
}

func bodyOf(t testing.TB, response *http.Response) string {
	t.Helper()
	require.NotNil(t, response)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func TestUploadsArriveWhole(t *testing.T) {
	s := takingUploads(t, web.Config{})
	large := strings.Repeat("a long recording ", 2*mib/17)
	for name, parts := range map[string][]formPart{
		"the fields first": {{"name", "", "Ann"}, {"files", "a.wav", large}, {"files[]", "b.wav", "RIFF"},
			{"file", "c.wav", "\r\n--\r\n--"}},
		"the fields last": {{"files", "a.wav", large}, {"other", "o.wav", large}, {"file", "c.wav", "\r\n--\r\n--"},
			{"files[]", "b.wav", "RIFF"}, {"", "", "?"}, {"name", "", "Ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.ask("POST", "/upload", formOf(parts...), "Content-Type", "multipart/form-data; boundary=b", "x-api-key",
				goodKey, "Idempotency-Key", "k")
			require.Equal(t, 200, a.StatusCode, a.body)
			require.True(t, a.Close)
			require.Regexp(t, requestID, a.Header.Get("request-id"))
			got := a.json(t)
			require.Equal(t, "Ann", got["name"])
			require.Equal(t, []any{
				fmt.Sprintf("a.wav application/octet-stream %d true", len(large)), "b.wav application/octet-stream 4 true",
				"c.wav application/octet-stream 8 true",
			}, got["files"])
			require.NotEmpty(t, got["content"])
			s.requireNothingHeld()
		})
	}
	small := formOf(formPart{"name", "", "Ann"}, formPart{"files", "a.wav", "RIFF"})
	announced := s.from("127.0.0.1").ask(uploadHead(len(small), "Idempotency-Key: k") + small)
	chunked := strings.Replace(uploadHead(0, "Idempotency-Key: k"), "Content-Length: 0", "Transfer-Encoding: chunked", 1) +
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(small), small)
	require.Equal(t, bodyOf(t, announced), bodyOf(t, s.from("127.0.0.1").ask(chunked)), "a form in memory is read alike")
}

// The body of an unauthenticated request is not read, and no space is claimed for it.
func TestUploadsNeedAuthentication(t *testing.T) {
	s := takingUploads(t, web.Config{})
	for _, key := range []string{"", "X-API-Key: wrong\r\n", "X-API-Key: key-while-down\r\n"} {
		for _, more := range []string{"", "Expect: 100-continue\r\n"} {
			head := strings.Replace(uploadHead(90*mib), "X-API-Key: "+goodKey+"\r\n", key+more, 1)
			response := s.from("127.0.0.1").ask(head)
			require.NotNil(t, response)
			require.Contains(t, []int{401, 503}, response.StatusCode, head)
			require.True(t, response.Close)
			require.Regexp(t, requestID, response.Header.Get("request-id"))
			require.Zero(t, s.spool.Claimed())
		}
	}
	// a client that sends the whole body first gets the reply, too
	p := s.from("127.0.0.1")
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p, strings.Replace(uploadHead(90*mib), goodKey, "wrong", 1)+strings.Repeat("x", 90*mib))
		sent <- err
	}()
	require.NoError(t, <-sent)
	require.Equal(t, 401, p.reply().StatusCode)

	// and an authenticated client that asks gets 100
	form := formOf(formPart{"files", "a.wav", "RIFF"})
	p = s.from("127.0.0.1")
	require.Equal(t, 100, p.ask(uploadHead(len(form), "Expect: 100-continue")).StatusCode)
	require.Equal(t, 200, p.ask(form).StatusCode)
	require.Equal(t, 200, s.from("127.0.0.1").ask(strings.Replace(uploadHead(len(form)), "HTTP/1.1", "HTTP/1.0",
		1)+form).StatusCode)
	require.Equal(t, 405, s.ask("HEAD", "/upload", "").StatusCode)
}

func TestBytesAfterAnUploadAreNotARequest(t *testing.T) {
	s := takingUploads(t, web.Config{})
	form := formOf(formPart{"files", "a.wav", "RIFF"})
	for name, more := range map[string]string{
		"a request":                       askOK,
		"a request that is in the length": "\r\n" + askOK,
	} {
		t.Run(name, func(t *testing.T) {
			p := s.from("127.0.0.1")
			length := len(form)
			if strings.HasPrefix(more, "\r\n") {
				length += len(more)
			}
			response := p.ask(uploadHead(length) + form + more)
			require.Equal(t, 200, response.StatusCode)
			bodyOf(t, response)
			require.Nil(t, p.reply())
		})
	}
	require.Len(t, s.seen, 2)
}

// Each case is answered without waiting for the announced bytes.
func TestHostileUploads(t *testing.T) {
	s := takingUploads(t, web.Config{})
	const announced = 90 * mib
	part := func(headers string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\n" + headers + "\r\n"
	}
	form := formOf(formPart{"files", "a.wav", "RIFF"})
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"another boundary":      {uploadHead(announced) + strings.Repeat("--c\r\n", 20_000), 400},
		"no boundary, no lines": {uploadHead(announced) + strings.Repeat("x", 100_000), 400},
		"no boundary in the head": {strings.Replace(uploadHead(announced), "; boundary=b", "", 1) + strings.Repeat("x",
			100_000), 400},
		"a boundary that is too long": {strings.Replace(uploadHead(announced), "boundary=b",
			"boundary="+strings.Repeat("b", 5000), 1), 400},
		"a part without end of head": {uploadHead(announced) + part("X: "+strings.Repeat("x", 100_000)), 400},
		"a part of many headers":     {uploadHead(announced) + part(strings.Repeat("X: y\r\n", 20_000)), 400},
		"headers in the second part": {uploadHead(announced) + part("") + "\r\n" + part(strings.Repeat("X: y\r\n",
			20_000)), 400},
		"many tiny parts": {uploadHead(announced) + strings.Repeat("--b\r\n\r\n\r\n", 100_000), 400},
		"many tiny files": {uploadHead(announced) + strings.Repeat(part("")+"\r\n", 10_000), 400},
		"a long text": {uploadHead(announced) + "--b\r\nContent-Disposition: form-data; " +
			"name=name\r\n\r\n" + strings.Repeat("x", 100_000), 413},
		"a long text with a file name": {uploadHead(announced) + "--b\r\nContent-Disposition: form-data; name=name; " +
			"filename=f\r\n\r\n" + strings.Repeat("x", 100_000), 413},
		"too long":            {uploadHead(100*mib + 1), 413},
		"two lengths":         {uploadHead(10, "Content-Length: 10"), 400},
		"a length and chunks": {uploadHead(10, "Transfer-Encoding: chunked"), 400},
		"chunks that are too long": {strings.Replace(uploadHead(0), "Content-Length: 0", "Transfer-Encoding: chunked",
			1) + "20000\r\n" + strings.Repeat("x", 0x20000), 413},
		"compressed":             {uploadHead(announced, "Content-Encoding: gzip"), 415},
		"no end":                 {uploadHead(len(form)-8) + form, 400},
		"parts without names":    {uploadHead(30) + "--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--\r\n", 200},
		"nothing but an end":     {uploadHead(7) + "--b--\r\n", 200},
		"garbage behind the end": {uploadHead(announced) + form + strings.Repeat("x", 100_000), 200},
	} {
		t.Run(name, func(t *testing.T) {
			p := s.from("127.0.0.1")
			go func() { _, _ = io.WriteString(p, c.request) }() // the connection may be closed
			response := p.reply()
			require.NotNil(t, response)
			body := bodyOf(t, response)
			require.Equal(t, c.status, response.StatusCode, body)
			require.Contains(t, body, "{")
			p.Close()
			s.requireNothingHeld()
		})
	}
	require.NotContains(t, s.logs.String(), `"level":"ERROR"`)
}

// Many stalled uploads of one client leave space for others, and do not disturb running uploads.
func TestUploadsHaveABudget(t *testing.T) {
	wait := func(*web.Call, uploadIn) (web.Reply, error) { return web.Reply{}, nil }
	form := formOf(formPart{"files", "a.wav", strings.Repeat("x", 60*mib)})
	for name, c := range map[string]struct {
		limits web.Limits
		fit    int
		status int
		from   func(i int) string
	}{
		"of an account": {web.Limits{Uploads: 2048 * mib, AddressUploads: 2048 * mib}, 4, 429,
			func(i int) string { return fmt.Sprintf("127.0.0.%d", 1+i) }},
		"of an address": {web.Limits{Uploads: 2048 * mib, AddressUploads: 200 * mib}, 3, 429,
			func(int) string { return "127.0.0.1" }},
		"of all": {web.Limits{Uploads: 200 * mib, AddressUploads: 200 * mib}, 3, 503,
			func(i int) string { return fmt.Sprintf("127.0.0.%d", 1+i) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := takingUploads(t, web.Config{
				Limits: c.limits, Routes: []web.Route{web.Post("/wait", wait, web.Uploads(100*mib))},
			})
			// given the maximum number of uploads, with a half of the first received
			var open []*peer
			for i := range c.fit {
				p := s.from(c.from(i))
				require.Equal(t, 100, p.ask(uploadHead(len(form), "Expect: 100-continue")).StatusCode)
				open = append(open, p)
			}
			open[0].send(form[:len(form)/2])
			left, err := os.ReadDir(s.dir)
			require.NoError(t, err)
			require.Empty(t, left, "files without content")
			// when there are more, then they are refused
			for i := range 20 {
				response := s.from(c.from(c.fit + i)).ask(uploadHead(len(form)))
				require.NotNil(t, response)
				require.Equal(t, c.status, response.StatusCode)
				require.Equal(t, "5", response.Header.Get("Retry-After"))
			}
			// and the first one is served
			open[0].send(form[len(form)/2:])
			response := open[0].reply()
			require.Equal(t, 200, response.StatusCode)
			require.Contains(t, bodyOf(t, response), fmt.Sprint(60*mib, " true"))
			for _, p := range open {
				p.Close()
			}
			s.requireNothingHeld()
			again := s.from(c.from(0)).ask(uploadHead(len(form), "Expect: 100-continue"))
			require.Equal(t, 100, again.StatusCode, "there is no space again")
		})
	}
}

func TestAnInterruptedUploadReleasesItsSpace(t *testing.T) {
	s := takingUploads(t, web.Config{})
	form := formOf(formPart{"files", "a.wav", strings.Repeat("x", 4*mib)})
	for sent := 0; sent < len(form); sent += 1 + len(form)/10 {
		p := s.from("127.0.0.1")
		require.Equal(t, 100, p.ask(uploadHead(len(form), "Expect: 100-continue")).StatusCode)
		p.send(form[:sent])
		require.NoError(t, p.Close())
		observed := <-s.seen
		require.Equal(t, 499, observed.Status)
		s.requireNothingHeld()
	}
	require.NotContains(t, s.logs.String(), `"level":"ERROR"`)
}

func TestSlowUploadsAreCut(t *testing.T) {
	s := takingUploads(t, web.Config{Limits: web.Limits{ReadTimeout: 150 * time.Millisecond}})
	p := s.from("127.0.0.1")
	p.send(uploadHead(90*mib) + "--b\r\nContent-Disposition: form-data; name=files; filename=a\r\n\r\n")
	ended, dripped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(dripped)
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
				_, _ = io.WriteString(p, "x")
			}
		}
	}()
	response := p.reply()
	close(ended)
	<-dripped
	require.NotNil(t, response)
	require.Equal(t, 408, response.StatusCode)
	require.Contains(t, bodyOf(t, response), "did not arrive in time")
	s.requireNothingHeld()
}

func TestAWholeUploadHasATime(t *testing.T) {
	s := takingUploads(t, web.Config{Limits: web.Limits{BodyTimeout: 100 * time.Millisecond}})
	response := s.from("127.0.0.1").ask(uploadHead(90 * mib))
	require.NotNil(t, response)
	require.Equal(t, 408, response.StatusCode)
}

func TestUploadsEndWithTheServer(t *testing.T) {
	s := takingUploads(t, web.Config{})
	p := s.from("127.0.0.1")
	require.Equal(t, 100, p.ask(uploadHead(90*mib, "Expect: 100-continue")).StatusCode)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
	require.Nil(t, p.reply())
	s.requireNothingHeld()
}

func TestAHandlerOfUploadsThatPanics(t *testing.T) {
	s := takingUploads(t, web.Config{Routes: []web.Route{
		web.Post("/broken", func(*web.Call, uploadIn) (web.Reply, error) { panic("broken") }, web.Uploads(100*mib)),
	}})
	form := formOf(formPart{"files", "a.wav", "RIFF"})
	response := s.from("127.0.0.1").ask(strings.Replace(uploadHead(len(form)), "/upload", "/broken", 1) + form)
	require.NotNil(t, response)
	require.Equal(t, 500, response.StatusCode)
	s.requireNothingHeld()
	s.from("127.0.0.1").requireOK(askOK)
}

// If an upload's client disconnects while the handler runs, the call ends, and the handler's result is dropped.
func TestADisconnectionDuringAnUploadEndsTheCall(t *testing.T) {
	entered := make(chan struct{})
	s := takingUploads(t, web.Config{Routes: []web.Route{
		web.Post("/slow", func(call *web.Call, _ uploadIn) (web.Reply, error) {
			close(entered)
			<-call.Done()
			return web.Reply{}, call.Err()
		}, web.Uploads(100*mib), web.Timeout(time.Hour)),
	}})
	form := formOf(formPart{"files", "a.wav", "RIFF"})
	p := s.from("127.0.0.1")
	p.send(strings.Replace(uploadHead(len(form)), "/upload", "/slow", 1) + form)
	<-entered
	require.NoError(t, p.Close())
	require.Equal(t, 499, (<-s.seen).Status)
	s.requireNothingHeld()
}

func TestUnusableRoutesForUploads(t *testing.T) {
	files, err := spool.Open(spool.Config{Dir: filepath.Join(t.TempDir(), "uploads"), Budget: mib, MaxFile: mib})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		cfg   web.Config
		route web.Route
	}{
		"uploads require authenticated callers": {web.Config{Uploads: files},
			web.Post("/upload", receive, web.Public(), web.Uploads(mib))},
		"no spool for uploads": {web.Config{}, web.Post("/upload", receive, web.Uploads(mib))},
		"exceeds the share of an address": {web.Config{Uploads: files, Limits: web.Limits{Uploads: mib}},
			web.Post("/upload", receive, web.Uploads(mib))},
	} {
		c.cfg.Logger, c.cfg.Authenticator, c.cfg.Routes = slog.New(slog.DiscardHandler), keys{}, []web.Route{c.route}
		_, err := web.NewServer(c.cfg)
		require.ErrorContains(t, err, name)
	}
}
