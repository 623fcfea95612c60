package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// talk is a client of the socket route, in dialect 1.1 with timestamps.
type talk struct {
	t     *testing.T
	ws    *websocket.Conn
	sound []byte
	words []word
	spent float64 // seconds of audio that the timestamps cover
	fault string  // type of the error frame, "" if there was none
}

func (c customer) talk(t *testing.T, settings order) *talk {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.DialContext(t.Context(),
		"ws"+strings.TrimPrefix(c.server.address, "http")+"/v1/ai/speech/stream", nil)
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	k := &talk{t: t, ws: ws}
	opening := order{"X-API-Key": c.key, "lmnt-version": "1.1", "voice": "leah", "return_timestamps": true}
	for name, value := range settings {
		opening[name] = value
	}
	k.send(opening)
	k.until("ready")
	return k
}

func (k *talk) send(messages ...order) {
	k.t.Helper()
	for _, message := range messages {
		require.NoError(k.t, k.ws.WriteJSON(message))
	}
}

// say sends a text in a number of pieces, which may be cut inside words.
func (k *talk) say(text string, pieces int) {
	k.t.Helper()
	runes := []rune(text)
	for i := range pieces {
		k.send(order{"type": "text", "text": string(runes[i*len(runes)/pieces : (i+1)*len(runes)/pieces])})
	}
}

// take reads the next frame and returns its type, "audio" for a binary one.
func (k *talk) take() (kind string, err error) { return k.takeWithin(patience) }

func (k *talk) takeWithin(patience time.Duration) (kind string, err error) {
	if err := k.ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	binary, message, err := k.ws.ReadMessage()
	if err != nil {
		return "", err
	}
	if binary == websocket.BinaryMessage {
		k.sound = append(k.sound, message...)
		return "audio", nil
	}
	var frame struct {
		Type       string `json:"type"`
		Timestamps []word `json:"timestamps"`
		Error      struct{ Type string }
	}
	if err := json.Unmarshal(message, &frame); err != nil {
		return "", err
	}
	k.fault = frame.Error.Type
	if n := len(frame.Timestamps); n > 0 {
		for _, w := range frame.Timestamps {
			w.Start += k.spent
			k.words = append(k.words, w)
		}
		k.spent += frame.Timestamps[n-1].Start + frame.Timestamps[n-1].Duration
	}
	return frame.Type, nil
}

func (k *talk) until(kind string) {
	k.t.Helper()
	for {
		got, err := k.take()
		require.NoError(k.t, err)
		if got == kind {
			return
		}
	}
}

// end reads up to the close frame and returns its code.
func (k *talk) end() int {
	k.t.Helper()
	for {
		_, err := k.take()
		var closed *websocket.CloseError
		if errors.As(err, &closed) {
			return closed.Code
		}
		require.NoError(k.t, err)
	}
}

func (k *talk) said() string {
	var said strings.Builder
	for _, w := range k.words {
		said.WriteString(w.Text)
	}
	return said.String()
}

func TestASocketCostsWhatItStreamed(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free")
	text := prose(4000)

	// given a session with an engine that is killed during the synthesis
	k := c.talk(t, order{"format": "pcm_s16le"})
	k.say(text, 200)
	k.send(order{"type": "flush", "nonce": 1})
	k.until("audio")
	s.workers("engine")[0].kill(t)
	k.until("flush_complete")

	// then the audio is complete nevertheless, and is settled when the flush is acknowledged
	require.Equal(t, text, k.said())
	require.InDelta(t, k.spent, float64(len(k.sound))/2/24000, 0.1)
	require.EqualValues(t, utf8.RuneCountInString(text), s.readLog().charactersOf(c.id))

	// when more text is sent, some of it is dropped, and the session ends
	k.say("And this is the end of it.", 5)
	k.send(order{"type": "flush", "nonce": 2})
	k.until("flush_complete")
	k.say("Never said", 1)
	k.send(order{"type": "reset", "nonce": 3}, order{"type": "finish"})
	require.Equal(t, websocket.CloseNormalClosure, k.end())

	// then the account shows the streamed characters immediately
	want := utf8.RuneCountInString(text + "And this is the end of it.")
	require.EqualValues(t, want, c.usage(t))
	require.Equal(t, text+"And this is the end of it.", k.said())
	books := s.requireSettledBooks()
	require.EqualValues(t, want, books.charactersOf(c.id))
	books.requireAccountShows(t, c)
}

func TestADisconnectedSocketCostsAPartOfItsText(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("indie")
	k := c.talk(t, order{"format": "pcm_f32le", "return_timestamps": false})
	text := prose(30_000)
	k.say(text, 10)
	for range 20 {
		k.until("audio")
	}
	require.NoError(t, k.ws.Close())
	books := c.requireSettled(t)
	require.Positive(t, books.charactersOf(c.id))
	require.Less(t, books.charactersOf(c.id), int64(30_000))
}

// A flush leaves no sound in any encoder: the received audio plays to the end of the last word.
func TestAFlushIsHeardToItsEnd(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("enterprise")
	for _, format := range []audio.Format{audio.MP3, audio.AAC, audio.WebM} {
		for _, rate := range []int{8000, 16000, 24000} {
			t.Run(fmt.Sprintf("%s at %d Hz", format, rate), func(t *testing.T) {
				k := c.talk(t, order{"format": format, "sample_rate": rate})
				k.say("This is heard to its very last word", 3)
				k.send(order{"type": "flush", "nonce": 1})
				k.until("flush_complete")
				came, err := libavtest.Decode(format, k.sound)
				require.NoError(t, err)
				flushed := int(k.spent * float64(came.Rate))

				// when more text is sent
				k.say("and on", 1)
				k.send(order{"type": "finish"})
				require.Equal(t, websocket.CloseNormalClosure, k.end())

				// then only silence of the flushed text was missing
				whole, err := libavtest.Decode(format, k.sound)
				require.NoError(t, err)
				require.Greater(t, len(whole.Samples), flushed)
				require.Positive(t, loudest(came.Samples[len(came.Samples)/2:]))
				late := whole.Samples[min(len(came.Samples), flushed):flushed]
				t.Logf("%d of %d samples came late", len(late), flushed)
				require.Less(t, loudest(late), float32(0.01))
			})
		}
	}
}

func loudest(samples []float32) (peak float32) {
	for _, sample := range samples {
		peak = max(peak, sample, -sample)
	}
	return peak
}

func TestSocketsAreFinishedWhenRecitaldStops(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("indie")
	k := c.talk(t, order{"format": "ulaw"})
	text := prose(3000)
	k.say(text, 1)
	k.send(order{"type": "flush", "nonce": 1})
	k.say("Not flushed, so never said. Never", 1)
	k.until("audio")
	idle := c.talk(t, nil)

	require.NoError(t, syscall.Kill(-s.command.Process.Pid, syscall.SIGINT))
	require.Equal(t, websocket.CloseGoingAway, idle.end())
	require.Equal(t, websocket.CloseGoingAway, k.end())
	s.awaitEnd()
	require.Equal(t, text, k.said())

	again := start(t, data)
	require.EqualValues(t, utf8.RuneCountInString(text), again.readLog().charactersOf(c.id))
	require.Zero(t, again.readLog().openReservations())
}
