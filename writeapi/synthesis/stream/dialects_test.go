package stream_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

const (
	dialectA = ``
	dialectB = `"protocol_version":2`
	dialectC = `"lmnt-version":"1.1"`

	hello = "Hello, how are you today? I am fine, thank you."
)

func timesOf(t *testing.T, f frame, key string) (times []speech.Timing) {
	t.Helper()
	require.Contains(t, f.fields, key, f.text)
	require.NoError(t, json.Unmarshal(f.fields[key], &times))
	require.NotNil(t, times)
	return times
}

// requireTimes checks that each list begins at 0 and has no gap, and that together they cover the text.
func requireTimes(t *testing.T, text string, lists [][]speech.Timing) (seconds float64) {
	t.Helper()
	var said strings.Builder
	for _, times := range lists {
		at := 0.0
		for _, timing := range times {
			require.InDelta(t, at, timing.Start, 1e-9)
			at = timing.Start + timing.Duration
			said.WriteString(timing.Text)
		}
		seconds += at
	}
	require.Equal(t, text, said.String())
	return seconds
}

func TestDialectAIsAudioAlone(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	c := h.begin(t, key,
		`"format":"raw","language":"en","conversational":false,"sample_rate":16000,"speed":1.5,"expressive":null,"model":null`)
	for _, r := range hello {
		c.send(fmt.Sprintf(`{"text":%q}`, string(r)))
	}
	c.send(`{"flush":true}`, `{"text":" And you?"}`, `{"eof":true}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	require.Empty(t, texts(frames), "a text frame would be an error to this client")
	require.NotEmpty(t, sound(frames))
	for _, f := range frames {
		require.LessOrEqual(t, len(f.binary), 64<<10)
	}
	require.EqualValues(t, len(hello+" And you?"), h.requireIdle(id))
}

func TestClientsOfVersion0(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	c := h.dialAt(t, "/speech/beta/synthesize_streaming")
	c.send(fmt.Sprintf(`{"X-API-Key":%q,"voice":"lily"}`, key), fmt.Sprintf(`{"text":%q}`, hello), `{"eof":"true"}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	require.Empty(t, texts(frames), "a text frame would be played as audio by this client")
	require.NotEmpty(t, sound(frames))
	require.EqualValues(t, len(hello), h.requireIdle(id))
}

func TestDialectAWithExtrasComesInPairs(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	for _, asked := range []string{`"send_extras":true,"sample_rate":16000`,
		`"return_extras":"True","sample_rate":"16000"`} {
		c := h.begin(t, key, `"format":"pcm_s16le",`+asked)
		c.send(fmt.Sprintf(`{"text":%q}`, hello), `{"flush":true}`, `{"text":" Bye."}`, `{"eof":"true"}`)
		frames, code := c.rest()
		require.Equal(t, 1000, code)
		require.Zero(t, len(frames)%2)
		var lists [][]speech.Timing
		for i := 0; i < len(frames); i += 2 {
			lists = append(lists, timesOf(t, frames[i], "durations"))
			require.Contains(t, frames[i].fields, "buffer_empty")
			require.NotNil(t, frames[i+1].binary, "the audio follows its times")
		}
		require.JSONEq(t, `true`, string(frames[len(frames)-2].fields["buffer_empty"]))
		require.JSONEq(t, `false`, string(frames[0].fields["buffer_empty"]))
		seconds := requireTimes(t, hello+" Bye.", lists)
		require.InDelta(t, float64(len(sound(frames)))/2/16000, seconds, 0.02)
	}
	require.EqualValues(t, 2*len(hello+" Bye."), h.requireIdle(id))
}

// Frames with times also carry the warning about text that could not be spoken; there is no extra frame, which would
// break clients.
func TestWhatCannotBeSpokenIsSaidBesideTheTimes(t *testing.T) {
	h := newHouse(t)
	for _, dialect := range []struct{ opening, plain, times string }{
		{`"send_extras":true`, `"format":"raw"`, "durations"},
		{dialectB + `,"send_extras":true`, dialectB, "durations"},
		{dialectC + `,"return_timestamps":true`, dialectC, "timestamps"},
	} {
		id, key := h.open("free")
		c := h.begin(t, key, dialect.opening)
		c.send(`{"text":"\u2026 ?!"}`, `{"flush":true}`, `{"text":"Hello."}`, `{"eof":true}`)
		frames, code := c.rest()
		require.Equal(t, 1000, code)
		var warned []string
		for _, f := range frames {
			if warning, found := f.fields["warning"]; found {
				require.JSONEq(t, `"text: there is nothing in it that can be spoken"`, string(warning))
				for _, timing := range timesOf(t, f, dialect.times) {
					warned = append(warned, timing.Text)
				}
			}
		}
		require.Equal(t, "… ?!", strings.Join(warned, ""), dialect.opening)
		require.EqualValues(t, len("Hello."), h.requireIdle(id))

		id, key = h.open("free")
		c = h.begin(t, key, dialect.plain)
		c.send(`{"text":"\u2026 ?!"}`, `{"eof":true}`)
		frames, code = c.rest()
		require.Equal(t, 1000, code)
		require.NotContains(t, fmt.Sprint(texts(frames)), "warning")
		require.Zero(t, h.requireIdle(id))
	}
}

func TestDialectBAcknowledges(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	c := h.begin(t, key, dialectB)
	c.send(fmt.Sprintf(`{"text":%q}`, hello), `{"command":"flush","nonce":1}`)
	first := c.until("complete")
	require.JSONEq(t, `{"complete":"flush","nonce":1}`, first[len(first)-1].text)
	require.NotEmpty(t, sound(first))
	require.Len(t, texts(first), 1, "no extras were asked for")
	settled, reservations, open := h.books(id)
	require.EqualValues(t, len(hello), settled, "what is complete is settled")
	require.Zero(t, open)
	require.LessOrEqual(t, reservations, 2)

	c.send(`{"command":"flush","nonce":2}`, `{"text":"Dropped"}`, `{"command":"reset","nonce":3}`, `{"command":"eof"}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	require.Len(t, texts(frames), 2)
	require.JSONEq(t, `{"complete":"flush","nonce":2}`, texts(frames)[0], "a flush of nothing, too")
	require.JSONEq(t, `{"complete":"reset","nonce":3}`, texts(frames)[1])
	require.EqualValues(t, len(hello), h.requireIdle(id))
}

func TestDialectBWithExtras(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	c := h.begin(t, key, dialectB+`,"send_extras":true,"format":"wav"`)
	c.send(fmt.Sprintf(`{"text":%q}`, hello), `{"command":"flush","nonce":1}`, `{"command":"eof"}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	var lists [][]speech.Timing
	for _, f := range frames {
		if _, found := f.fields["durations"]; found {
			lists = append(lists, timesOf(t, f, "durations"))
		} else if f.text != "" {
			require.True(t, f.fields["complete"] != nil || f.fields["buffer_empty"] != nil, f.text)
		}
	}
	requireTimes(t, hello, lists)
	require.EqualValues(t, len(hello), h.requireIdle(id))
}

func TestDialectCIsTyped(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	for _, opening := range []string{dialectC, `"type":"init","lmnt-version":"1.1"`, `"type":"init"`} {
		c := h.begin(t, key, opening+`,"return_timestamps":true,"format":"pcm_f32le"`)
		ready := c.hear()
		require.Regexp(t, `^{"type":"ready","request_id":"req_\w{22}"}$`, ready.text)
		c.send(fmt.Sprintf(`{"type":"text","text":%q}`, hello), `{"type":"flush","nonce":7}`)
		frames := c.until("flush_complete")
		require.JSONEq(t, `{"type":"flush_complete","nonce":7}`, frames[len(frames)-1].text)
		var lists [][]speech.Timing
		for i, f := range frames[:len(frames)-1] {
			if f.text != "" {
				require.JSONEq(t, `"timestamps"`, string(f.fields["type"]))
				require.NotNil(t, frames[i-1].binary, "the times come after their audio")
				lists = append(lists, timesOf(t, f, "timestamps"))
			}
		}
		seconds := requireTimes(t, hello, lists)
		require.InDelta(t, float64(len(sound(frames)))/4/24000, seconds, 0.02)

		c.send(`{"type":"reset","nonce":8}`, `{"type":"finish"}`)
		frames, code := c.rest()
		require.Equal(t, 1000, code)
		require.JSONEq(t, `{"type":"reset_complete","nonce":8}`, texts(frames)[0])
	}
	require.EqualValues(t, 3*len(hello), h.requireIdle(id))
}

// From version 1.2 on, times count from the start of the session, and anew after a flush or a reset.
func TestTimesAddUp(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("free")
	c := h.begin(t, key, `"type":"init","lmnt-version":"1.2","return_timestamps":true,"format":"pcm_f32le"`)
	c.hear() // ready
	for _, turn := range []struct{ what, answer string }{
		{`{"type":"flush","nonce":1}`, "flush_complete"}, {`{"type":"reset","nonce":2}`, "reset_complete"},
		{`{"type":"flush","nonce":3}`, "flush_complete"},
	} {
		var times []speech.Timing
		c.send(fmt.Sprintf(`{"type":"text","text":%q}`, hello+" "+hello), `{"type":"flush"}`)
		frames := c.until("flush_complete")
		messages := 0
		for _, f := range frames[:len(frames)-1] {
			if f.text != "" {
				messages++
				times = append(times, timesOf(t, f, "timestamps")...)
			}
		}
		require.Greater(t, messages, 1, "else nothing adds up")
		seconds := requireTimes(t, hello+" "+hello, [][]speech.Timing{times})
		require.InDelta(t, float64(len(sound(frames)))/4/24000, seconds, 0.02)
		c.send(turn.what)
		c.until(turn.answer)
	}
	c.send(`{"type":"finish"}`)
	_, code := c.rest()
	require.Equal(t, 1000, code)
	h.requireIdle(id)
}

func TestDialectCWithoutTimestamps(t *testing.T) {
	h := newHouse(t)
	_, key := h.open("free")
	c := h.begin(t, key, dialectC)
	c.hear()
	c.send(`{"type":"text","text":"One, two, three, four, five. Six"}`, `{"type":"finish"}`)
	frames, code := c.rest()
	require.Equal(t, 1000, code)
	require.Empty(t, texts(frames))
	require.NotEmpty(t, sound(frames))
}

// Every session accepts every form; the replies follow the session's own dialect.
func TestEveryFormIsTakenOnEverySession(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("enterprise")
	for dialect, want := range map[string]int{dialectA: 0, dialectB: 2, dialectC: 4} { // acknowledgements
		c := h.begin(t, key, dialect+"")
		c.send(`{"text":"a"}`, `{"type":"text","text":"b"}`, `{"flush":true}`, `{"text":"c","command":"flush","nonce":1}`,
			`{"type":"flush"}`, `{"type":"reset","nonce":"2"}`, `{"flush":false,"nonce":null,"other":[{}]}`, `{"type":"finish"}`)
		frames, code := c.rest()
		require.Equal(t, 1000, code)
		told := texts(frames)
		if dialect == dialectC {
			told = told[1:] // ready
		}
		require.Len(t, told, want, "%s: %v", dialect, told)
	}
	h.requireIdle(id)
}

// A text sounds the same in every dialect, whole or in pieces.
func TestPiecesSoundLikeTheWhole(t *testing.T) {
	h := newHouse(t)
	id, key := h.open("enterprise")
	text := strings.Repeat("It was small, and nobody knew where it stood; “but the coffee”, they said, “was good”. 🎉 ", 6)
	var whole []byte
	for n, dialect := range []string{dialectA, dialectA, dialectB, dialectC} {
		c := h.begin(t, key, strings.TrimPrefix(dialect+`,"format":"pcm_s16le"`, ","))
		pieces := 1
		if n > 0 {
			pieces = 200
		}
		runes := []rune(text)
		for i := range pieces {
			piece, err := json.Marshal(string(runes[i*len(runes)/pieces : (i+1)*len(runes)/pieces]))
			require.NoError(t, err)
			c.send(fmt.Sprintf(`{"text":%s}`, piece))
		}
		c.send(`{"eof":true}`)
		frames, code := c.rest()
		require.Equal(t, 1000, code)
		if whole == nil {
			whole = sound(frames)
		}
		require.Equal(t, len(whole), len(sound(frames)))
		require.Equal(t, whole, sound(frames))
	}
	require.EqualValues(t, 4*utf8.RuneCountInString(text), h.requireIdle(id))
	requireNoClicks(t, whole)
}

// requireNoClicks checks for jumps between samples that speech does not have.
func requireNoClicks(t *testing.T, pcm []byte) {
	t.Helper()
	last, largest := 0, 0.0
	for i := 0; i+1 < len(pcm); i += 2 {
		sample := int(int16(uint16(pcm[i]) | uint16(pcm[i+1])<<8))
		largest = max(largest, math.Abs(float64(sample-last)))
		last = sample
	}
	require.Less(t, largest, 16000.0)
}
