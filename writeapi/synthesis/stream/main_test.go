package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	books "github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/speechtest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/writeapi/synthesis/stream"
)

// processes are shared by the tests.
var processes speechtest.Processes

func TestMain(m *testing.M) {
	speechtest.Main(m, &processes,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"), // fasthttp's clock
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// patience bounds each wait on a busy machine; nothing is timed.
const patience = time.Minute

// house serves the route on a real server, with a real log and real workers.
type house struct {
	t      testing.TB
	server *web.Server
	addr   string
	*commandstest.World
	ledger  *ledger.Ledger
	synth   *synthesis.Synthesiser
	engines *worker.Pool
	codecs  *codec.Pool

	mu   sync.Mutex
	keys map[string]string // account by key

	voices synthesis.Voices
}

// visible is a read model that is always up to date.
type visible struct{}

func (visible) Wait(context.Context, eventlog.Position, ...readmodel.Model) error { return nil }

// APIKey implements web.Authenticator.
func (h *house) APIKey(_ context.Context, key string) (web.Principal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id, ok := h.keys[key]; ok {
		return web.Principal{Account: id, Key: "key…"}, nil
	}
	return web.Principal{}, domain.Refuse(domain.Unauthenticated, "no such key")
}

func newHouse(t testing.TB, change ...func(*web.Config)) *house {
	t.Helper()
	h := &house{t: t, World: commandstest.New(t), keys: map[string]string{}, voices: &enginetest.SystemVoices{}}
	h.ledger = ledger.New(h.Journal, h.Accounts, time.Now, 10*time.Minute)
	t.Cleanup(h.ledger.Close)
	processes.Start(t)
	h.engines, h.codecs = processes.Engines, processes.Codecs
	h.synth = &synthesis.Synthesiser{
		Ledger: h.ledger, Voices: h.voices, Speaker: speech.NewSpeaker(h.engines), Encoders: audio.NewEncoders(h.codecs),
		ReadModels: visible{},
	}
	h.serve(change)
	return h
}

func (h *house) serve(change []func(*web.Config)) {
	h.t.Helper()
	api := stream.API{Synthesiser: h.synth}
	cfg := web.Config{Routes: api.Routes(), Authenticator: h, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range change {
		change(&cfg)
	}
	var err error
	h.server, err = web.NewServer(cfg)
	require.NoError(h.t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(h.t, err)
	h.addr = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(ln) }()
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(h.t, h.server.Shutdown(ctx))
		require.NoError(h.t, <-served)
	})
}

// open opens an account and gives it a key.
func (h *house) open(plan string) (id, key string) {
	h.t.Helper()
	opened, err := accounts.New(h.Journal, time.Now).Open(h.t.Context(), plan, commandstest.Operator())
	require.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	key = "key of " + opened.Account
	h.keys[key] = opened.Account
	return opened.Account, key
}

// books returns an account's usage, and the number of its reservations and of the open ones.
func (h *house) books(id string) (settled int64, reservations, open int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for delivery := range h.Log.Subscribe(ctx, eventlog.Start()).Deliveries() {
		if delivery.Kind == eventlog.KindCaughtUp {
			cancel()
			break
		}
		if delivery.Kind != eventlog.KindEvent {
			continue
		}
		decoded, err := h.Journal.Registry.Decode(delivery.Event)
		require.NoError(h.t, err)
		switch e := decoded.Event.(type) {
		case books.Reserved:
			if e.Account == id {
				open++
				reservations++
			}
		case books.Settled:
			if e.Account == id {
				open--
				settled += e.Characters
			}
		}
	}
	return settled, reservations, open
}

// requireIdle waits until all sessions have ended, and returns an account's usage.
func (h *house) requireIdle(id string) (settled int64) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		engines := h.engines.Stats()
		if engines.Busy > 0 || engines.Queued > 0 || h.codecs.Stats().Streams > 0 {
			return false
		}
		var open int
		settled, _, open = h.books(id)
		return open == 0
	}, patience, 10*time.Millisecond, "something is left of a session that has ended")
	return settled
}

// talker is a client.
type talker struct {
	t    testing.TB
	ws   *websocket.Conn
	told *described
	odd  error // about the first message that the document does not have; the server must refuse it
}

// frame is a message of the server.
type frame struct {
	binary []byte
	text   string
	fields map[string]json.RawMessage
}

func (h *house) dial(t testing.TB) *talker { return h.dialAt(t, "/v1/ai/speech/stream") }

func (h *house) dialAt(t testing.TB, path string) *talker {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+h.addr+path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	told, err := theDocument()
	require.NoError(t, err)
	return &talker{t: t, ws: ws, told: told}
}

// begin opens a session: {"X-API-Key": key, "voice": "leah"} and more, which is JSON without braces.
func (h *house) begin(t testing.TB, key, more string) *talker {
	t.Helper()
	c := h.dial(t)
	if more != "" {
		more = "," + more
	}
	c.send(fmt.Sprintf(`{"X-API-Key":%q,"voice":"leah"%s}`, key, more))
	return c
}

func (c *talker) send(messages ...string) {
	c.t.Helper()
	for _, message := range messages {
		if err := c.told.check("receive", message); err != nil && c.odd == nil {
			c.odd = err
		}
		require.NoError(c.t, c.ws.WriteMessage(websocket.TextMessage, []byte(message)))
	}
}

// next returns the next frame.
func (c *talker) next() (frame, error) {
	if err := c.ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return frame{}, err
	}
	kind, message, err := c.ws.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	if kind == websocket.BinaryMessage {
		return frame{binary: message}, nil
	}
	if err := c.told.check("send", string(message)); err != nil {
		return frame{}, err
	}
	f := frame{text: string(message)}
	return f, json.Unmarshal(message, &f.fields)
}

func (c *talker) hear() frame {
	c.t.Helper()
	f, err := c.next()
	require.NoError(c.t, err)
	return f
}

// until reads frames up to one whose text contains the given text.
func (c *talker) until(text string) (frames []frame) {
	c.t.Helper()
	for {
		f := c.hear()
		frames = append(frames, f)
		if strings.Contains(f.text, text) {
			return frames
		}
	}
}

// rest reads all frames up to the close frame.
func (c *talker) rest() (frames []frame, code int) {
	c.t.Helper()
	for {
		f, err := c.next()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			require.False(c.t, closed.Code == websocket.CloseNormalClosure && c.odd != nil, "accepted, but not described: %v",
				c.odd)
			return frames, closed.Code
		}
		require.NoError(c.t, err)
		frames = append(frames, f)
	}
}

func sound(frames []frame) (audio []byte) {
	for _, f := range frames {
		audio = append(audio, f.binary...)
	}
	return audio
}

// texts returns the text frames.
func texts(frames []frame) (texts []string) {
	for _, f := range frames {
		if f.text != "" {
			texts = append(texts, f.text)
		}
	}
	return texts
}
