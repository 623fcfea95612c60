package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/process/procfs/procfstest"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/codec/protocol"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

// First messages that are refused, and the errors in 1.0 and in 1.1.
func TestOpeningsThatAreRefused(t *testing.T) {
	h := newHouse(t)
	_, key := h.open("free")
	for name, c := range map[string]struct {
		opening string // %s is the key
		kind    string
		message string
		code10  int
		code11  int
	}{
		"a wrong key": {`{"X-API-Key":"no%.0s","voice":"leah"`, "authentication_error", "Invalid API key", 1002,
			1008},
		"no key": {`{"voice":"leah"%.0s`, "authentication_error",
			"An API key is needed, as X-API-Key in the first message", 1002, 1008},
		"a wrong model": {`{"X-API-Key":%q,"voice":"leah","model":"gale"`, "invalid_request_error",
			"model: Input should be 'aurora', 'blizzard', 'blizzard-2.0', 'blizzard-2.1' or 'blizzard-dialogue'", 1002, 1002},
		"no voice":         {`{"X-API-Key":%q`, "invalid_request_error", "voice: Field required", 1002, 1002},
		"an unknown voice": {`{"X-API-Key":%q,"voice":"nobody"`, "not_found_error", "There is no such voice", 1002, 1002},
		"an unknown format": {`{"X-API-Key":%q,"voice":"leah","format":"ogg"`, "invalid_request_error",
			"format: Input should be 'aac', 'mp3', 'raw', 'wav', 'ulaw', 'webm', 'pcm_s16le' or 'pcm_f32le'", 1002, 1002},
		"an unknown language": {`{"X-API-Key":%q,"voice":"leah","language":"tlh"`, "invalid_request_error",
			"language: Value error, the engine does not speak this language", 1002, 1002},
		"a wrong rate": {`{"X-API-Key":%q,"voice":"leah","sample_rate":"11025"`, "invalid_request_error",
			"sample_rate: Input should be 8000, 16000 or 24000", 1002, 1002},
		"a wrong speed": {`{"X-API-Key":%q,"voice":"leah","speed":9`, "invalid_request_error",
			"speed: Input should be less than or equal to 2", 1002, 1002},
		"a wrong seed": {`{"X-API-Key":%q,"voice":"leah","seed":1.5`, "invalid_request_error",
			"seed: Input should be a valid integer, got a number with a fractional part", 1002, 1002},
		"a wrong temperature": {`{"X-API-Key":%q,"voice":"leah","temperature":9`, "invalid_request_error",
			"temperature: Input should be less than or equal to 5", 1002, 1002},
	} {
		t.Run(name, func(t *testing.T) {
			opening := fmt.Sprintf(c.opening, key)
			old := h.dial(t)
			old.send(opening + "}")
			frames, code := old.rest()
			require.Equal(t, c.code10, code)
			require.Len(t, frames, 1)
			require.JSONEq(t, fmt.Sprintf(`{"error":%q}`, c.message), frames[0].text)

			typed := h.dial(t)
			typed.send(opening + `,"lmnt-version":"1.1"}`)
			frames, code = typed.rest()
			require.Equal(t, c.code11, code)
			require.Len(t, frames, 1)
			id := strings.Trim(string(frames[0].fields["request_id"]), `"`)
			require.Regexp(t, `^req_\w{22}$`, id)
			require.JSONEq(t, fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":%q}`, c.kind, c.message,
				id), frames[0].text)
		})
	}
	for name, opening := range map[string]string{"no JSON": `{"X-API-Key`, "a list": `[]`, "a text": `"hello"`,
		"nothing": ``} {
		t.Run(name, func(t *testing.T) {
			c := h.dial(t)
			c.send(opening)
			frames, code := c.rest()
			require.Equal(t, 1002, code)
			require.Len(t, frames, 1)
			require.Contains(t, frames[0].text, `{"error":"body`)
		})
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	for name, c := range map[string]struct {
		message string
		told    string
		code    int
	}{
		"no JSON":          {`{"text":`, "message: JSON decode error: Expecting value", 1002},
		"a list":           {`[1]`, "message: Input should be a valid dictionary", 1002},
		"nothing known":    {`{"txt":"a"}`, "message: Input should hold text, flush, reset or an end", 1002},
		"a number as text": {`{"text":1}`, "text: Input should be a valid string", 1002},
		"a NUL": {`{"text":"a\u0000"}`, "text: Value error, a text must not contain the character NUL (U+0000)",
			1002},
		"a lone surrogate": {`{"text":"a\ude00b"}`, "text: Input should be a valid string, unable to parse raw " +
			"data as a unicode string", 1002},
		"half a character":   {`{"text":"a\ud83d","flush":true}`, "text: The text ends within a character", 1002},
		"an unknown type":    {`{"type":"sing"}`, "type: Input should be 'text', 'flush', 'reset', 'eof' or 'finish'", 1002},
		"a second opening":   {`{"type":"init"}`, "type: The session has begun already", 1002},
		"a type without":     {`{"type":"text"}`, "text: Field required", 1002},
		"a nonce that is no": {`{"type":"flush","nonce":"x"}`, "nonce: Input should be a valid integer", 1002},
		"a flag that is no":  {`{"flush":3}`, "flush: Input should be a valid boolean", 1002},
		"too large":          {`{"text":"` + strings.Repeat("a", 256<<10) + `"}`, "The message is too large", 1009},
		"invalid UTF-8":      {"{\"text\":\"caf\xc3\"}", "Messages must be valid UTF-8", 1007},
	} {
		t.Run(name, func(t *testing.T) {
			s := h.begin(t, key, "")
			s.send(c.message)
			frames, code := s.rest()
			require.Equal(t, c.code, code)
			require.Equal(t, []string{fmt.Sprintf(`{"error":%q}`, c.told)}, texts(frames))
		})
	}
	s := h.begin(t, key, "")
	require.NoError(t, s.ws.WriteMessage(websocket.BinaryMessage, []byte("sound")))
	_, code := s.rest()
	require.Equal(t, 1003, code)
	require.Zero(t, h.requireIdle(id))
}

// A message refused during encoding gets its reason, and a client that then leaves is not logged as a fault.
func TestMessagesWhileASegmentIsEncoded(t *testing.T) {
	for name, c := range map[string]struct {
		send func(*talker)
		code int
		told []string
	}{
		"one that is refused": {func(c *talker) { c.send(`{"text":1}`) }, 1002,
			[]string{`{"error":"text: Input should be a valid string"}`}},
		"an end": {func(c *talker) {
			end := websocket.FormatCloseMessage(1000, "")
			require.NoError(t, c.ws.WriteControl(websocket.CloseMessage, end, time.Now().Add(patience)))
		}, 1000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var logs testlog.Buffer
			h := newHouse(t, func(cfg *web.Config) { cfg.Logger = slog.New(slog.NewTextHandler(&logs, nil)) })
			id, key := h.open("enterprise")
			s := h.begin(t, key, "")
			s.send(`{"text":"It was small. And nobody knew. "}`)
			s.hear()
			procfstest.Stop(t, childOf(t, "codec"))
			s.send(`{"text":"Not said. Not said. Not said. "}`, `{"flush":true}`)
			require.Eventually(t, func() bool { _, _, open := h.books(id); return open > 0 }, patience, time.Millisecond)
			c.send(s)
			frames, code := s.rest()
			require.Equal(t, c.code, code)
			require.Equal(t, c.told, texts(frames))
			h.requireIdle(id)
			require.NotContains(t, logs.String(), "socket failed")
		})
	}
}

// JavaScript may cut a character beyond the basic plane in half.
func TestHalvesOfCharactersAreJoined(t *testing.T) {
	h := newHouse(t)
	_, key := h.open("free")
	c := h.begin(t, key, dialectC+`,"return_timestamps":true`)
	c.hear()
	c.send(`{"type":"text","text":"Party \ud83c"}`, `{"type":"text","text":""}`, `{"type":"text","text":"\udf89 time"}`,
		`{"type":"finish"}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	require.Contains(t, strings.Join(texts(frames), ""), "🎉")
}

func TestAnAccountWithoutCharacters(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	const sentence = "The quick brown fox jumps over the dog."
	used := commandstest.Reserve(t, h.ledger, id, commandstest.FreeLimit)
	commandstest.Settle(t, h.ledger, used, commandstest.FreeLimit-int64(len(sentence)))
	c := h.begin(t, key, `"format":"ulaw","speed":2`)
	c.send(fmt.Sprintf(`{"text":%q}`, sentence), `{"eof":true}`)
	_, code := c.rest()
	require.Equal(t, 1000, code)
	for dialect, want := range map[string]int{dialectB: 1002, dialectC: 1008} {
		c := h.begin(t, key, dialect)
		c.send(`{"text":"!","flush":true}`)
		frames, code := c.rest()
		require.Equal(t, want, code)
		require.Contains(t, frames[len(frames)-1].text, "do not suffice")
		if dialect == dialectC {
			require.Contains(t, frames[len(frames)-1].text, "payment_required_error")
		}
	}
	require.EqualValues(t, commandstest.FreeLimit, h.requireIdle(id))
}

func TestAnAccountWithTooFewCharactersIsToldHowManyWouldFit(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	held := commandstest.Reserve(t, h.ledger, id, commandstest.FreeLimit-8)
	for _, dialect := range []string{dialectB, dialectC} {
		c := h.begin(t, key, dialect)
		c.send(`{"text":"Ten chars.","flush":true}`)
		frames, _ := c.rest()
		require.Contains(t, frames[len(frames)-1].text, "it has 10 and 8 would fit")
	}
	commandstest.Settle(t, h.ledger, held, 0)
	require.Zero(t, h.requireIdle(id))
}

// A client that hangs up pays for the segments that were sent, and the synthesis stops.
func TestAHangUpIsSettled(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("enterprise")
	long := strings.Repeat("It was small, and nobody knew where it stood. ", 2000)
	for name, leave := range map[string]func(*websocket.Conn){
		"in order": func(ws *websocket.Conn) {
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
		},
		"at once": func(ws *websocket.Conn) { ws.Close() },
		"with a reset": func(ws *websocket.Conn) {
			_ = ws.NetConn().(*net.TCPConn).SetLinger(0)
			ws.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := h.requireIdle(id)
			c := h.begin(t, key, `"format":"pcm_f32le"`)
			c.send(fmt.Sprintf(`{"text":%q}`, long))
			for range 40 {
				c.hear()
			}
			leave(c.ws)
			settled := h.requireIdle(id) - before
			require.Positive(t, settled)
			require.Less(t, settled, int64(len(long)))
		})
	}
}

func TestAResetStopsWhatIsBeingSaid(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("enterprise")
	c := h.begin(t, key, dialectB+`,"format":"pcm_f32le"`)
	long := strings.Repeat("It was small, and nobody knew where it stood. ", 400)
	c.send(fmt.Sprintf(`{"text":%q}`, long), `{"command":"flush","nonce":1}`)
	for range 10 {
		c.hear()
	}
	c.send(`{"command":"reset","nonce":2}`)
	frames := c.until(`"reset"`)
	require.Equal(t, []string{`{"complete":"flush","nonce":1}`, `{"complete":"reset","nonce":2}`}, texts(frames))
	c.send(`{"text":"So"}`, `{"command":"flush","nonce":3}`)
	frames = c.until(`"nonce":3`)
	require.NotEmpty(t, sound(frames))
	c.send(`{"command":"eof"}`)
	_, code := c.rest()
	require.Equal(t, 1000, code)
	require.Less(t, h.requireIdle(id), int64(len(long)))
}

func TestAnIdleSessionIsToldWhyItEnds(t *testing.T) {
	h := newHouse(t, func(cfg *web.Config) { cfg.Limits.SocketIdle = 100 * time.Millisecond })
	id, key := h.open("free")
	c := h.begin(t, key, dialectC)
	_ = c.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"text","text":"Never finish"}`)) // it may be over
	frames, code := c.rest()
	require.Equal(t, 1008, code)
	require.Contains(t, frames[len(frames)-1].text, "Nothing was sent for too long")
	require.Zero(t, h.requireIdle(id), "what was never spoken costs nothing")
}

func TestADrainFinishesWhatWasFlushed(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("enterprise")
	long := strings.Repeat("It was small, and nobody knew where it stood. ", 80)
	flushed := h.begin(t, key, dialectB+`,"format":"pcm_s16le"`)
	flushed.send(fmt.Sprintf(`{"text":%q}`, long), `{"command":"flush","nonce":1}`,
		`{"text":"Not flushed, and so not said. Never."}`)
	flushed.hear()
	idle := h.begin(t, key, dialectC)
	idle.hear()
	drained := make(chan error, 1)
	go func() { drained <- h.server.Shutdown(context.Background()) }()
	_, code := idle.rest()
	require.Equal(t, 1001, code)
	frames, code := flushed.rest()
	require.Equal(t, 1001, code)
	require.Equal(t, []string{`{"complete":"flush","nonce":1}`}, texts(frames))
	require.NoError(t, <-drained)
	require.EqualValues(t, len(long), h.requireIdle(id))
}

// A client that stops reading stops the synthesis, which continues when the client reads again.
func TestASlowReaderStopsTheSynthesis(t *testing.T) {
	longtest.Only(t)
	h := newHouse(t)
	id, key := h.open("enterprise")
	c := h.begin(t, key, `"format":"pcm_f32le"`)
	long := strings.Repeat("It was small, and nobody knew where it stood. ", 200) // 50 MB of audio
	c.send(fmt.Sprintf(`{"text":%q}`, long), `{"eof":true}`)
	require.Eventually(t, func() bool { stats := h.engines.Stats(); return stats.Busy == 0 && stats.Queued == 0 },
		patience, 50*time.Millisecond)
	require.Eventually(t, func() bool { _, _, open := h.books(id); return open == 1 }, patience, 50*time.Millisecond)
	settled, _, _ := h.books(id)
	require.Less(t, settled, int64(len(long)))
	_, code := c.rest()
	require.Equal(t, 1000, code)
	require.EqualValues(t, len(long), h.requireIdle(id))
}

// Killed engines break no promise: a session with times repeats the segment.
func TestAnEngineThatIsKilled(t *testing.T) {
	processes.StartOwn(t)
	h := newHouse(t)
	id, key := h.open("enterprise")
	c := h.begin(t, key, dialectC+`,"return_timestamps":true`)
	c.hear()
	long := strings.Repeat("It was small, and nobody knew where it stood. ", 100)
	c.send(fmt.Sprintf(`{"type":"text","text":%q}`, long), `{"type":"flush","nonce":1}`)
	c.hear()
	killEngine(t)
	frames := c.until("flush_complete")
	require.NotEmpty(t, frames)
	c.send(`{"type":"finish"}`)
	_, code := c.rest()
	require.Equal(t, 1000, code)
	require.EqualValues(t, len(long), h.requireIdle(id))
}

// killEngine kills one of this process's own engine processes.
func killEngine(t *testing.T) {
	t.Helper()
	require.NoError(t, syscall.Kill(childOf(t, "engine"), syscall.SIGKILL))
}

// childOf returns the latest of this process's own worker processes in a mode.
func childOf(t testing.TB, mode string) (pid int) {
	t.Helper()
	var latest uint64
	for _, child := range procfs.Children(os.Getpid()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)) // it may have ended
		if started := startOf(child); strings.HasSuffix(string(line), "\x00"+mode+"\x00") && started >= latest {
			pid, latest = child, started
		}
	}
	require.NotZero(t, pid, "there is no %s process", mode)
	return pid
}

// startOf returns the start of a process, in clock ticks since boot (proc_pid_stat(5)). The order of ids is no measure,
// since they wrap around.
func startOf(pid int) uint64 {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[19], 10, 64)
	return ticks
}

// Quiet clients hold no encoder: there can be more of them than codec streams, and all of them, and one more, are
// served.
func TestQuietSessionsHoldNoEncoder(t *testing.T) {
	longtest.Only(t)
	const more = 8
	h := newHouse(t, func(cfg *web.Config) { cfg.Limits.AccountSockets = protocol.MaxStreams + more + 1 })
	h.synth.QuietEncoder = 10 * time.Millisecond
	id, key := h.open("enterprise")
	var quiet []*talker
	for range protocol.MaxStreams + more {
		c := h.begin(t, key, dialectC+`,"format":"mp3"`)
		c.hear()
		c.send(`{"type":"text","text":"So"}`, `{"type":"flush","nonce":1}`)
		require.NotEmpty(t, sound(c.until("flush_complete")))
		quiet = append(quiet, c)
	}
	require.Eventually(t, func() bool { return h.codecs.Stats().Streams == 0 }, patience, time.Millisecond)

	for _, c := range append(quiet, h.begin(t, key, dialectC+`,"format":"mp3"`)) {
		c.send(`{"type":"text","text":"So"}`, `{"type":"finish"}`)
		frames, code := c.rest()
		require.Equal(t, 1000, code)
		require.NotEmpty(t, sound(frames))
	}
	require.EqualValues(t, 2*(2*(protocol.MaxStreams+more)+1), h.requireIdle(id))
}

// While the codecs are full, new clients are refused with a time to retry, and earlier ones are still served.
func TestFullCodecsRefuseNewSessionsOnly(t *testing.T) {
	h := newHouse(t)
	h.synth.QuietEncoder = time.Hour
	id, key := h.open("free")
	before := h.begin(t, key, dialectC+`,"format":"mp3"`)
	before.hear()
	before.send(`{"type":"text","text":"So"}`, `{"type":"flush","nonce":1}`)
	before.until("flush_complete")
	var full []audio.Encoder
	for range protocol.MaxStreams - 1 {
		stream, err := h.codecs.Open(t.Context(), audio.Spec{Format: audio.MP3, SampleRate: 24000}, 22050)
		require.NoError(t, err)
		full = append(full, stream)
	}

	late := h.begin(t, key, dialectC+`,"format":"mp3"`)
	late.hear()
	late.send(`{"type":"text","text":"So"}`, `{"type":"finish"}`)
	frames, code := late.rest()
	require.Equal(t, web.CloseTryLater, code)
	require.Contains(t, frames[len(frames)-1].text, "All codec processes are full")

	before.send(`{"type":"text","text":"So"}`, `{"type":"finish"}`)
	frames, code = before.rest()
	require.Equal(t, 1000, code)
	require.NotEmpty(t, sound(frames))
	for _, stream := range full {
		stream.Close()
	}
	require.EqualValues(t, 4, h.requireIdle(id), "who was refused pays nothing")
}
