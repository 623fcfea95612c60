package main_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	voice "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
)

// soakRequest is one request of a client of the soak test.
type soakRequest struct {
	customer  customer
	way       string // the kind of request: a body of some kind, a URL, or a socket in one of the dialects
	order     order  // the request, without the text
	text      string
	hostile   bool // parts of the text may be unspeakable
	manner    manner
	patience  time.Duration // after which it disconnects, if it does not wait for a response
	bytes     int           // after which it disconnects in the middle
	pieces    []string      // of the text, on a socket
	takesBack bool          // drops the socket's text now and then
	deletes   bool          // deletes the clip that it saved
}

// manner is the behaviour of a client.
type manner string

const (
	polite     manner = "polite"
	impatient  manner = "impatient"   // disconnects before there is a response
	leaves     manner = "leaves"      // disconnects in the middle
	slow       manner = "slow"        // reads little at a time, with pauses
	closesHalf manner = "closes half" // closes its sending side, which counts as a disconnect
	resets     manner = "resets"      // disconnects in the middle with a reset
	wrong      manner = "wrong"       // sends an invalid request
)

// outcome is the outcome of a request.
type outcome struct {
	soakRequest
	result      string
	status      int    // 0 without a response, and for sockets
	generation  string // identifies the reservation in the log; empty if unknown to the client
	least, most int64  // characters that may have been counted

	leastClips, mostClips int // that may have been saved
}

// These are the results of requests.
const (
	whole   = "whole"
	cut     = "cut by the server"
	hungUp  = "hung up"
	refused = "refused"
	stuck   = "stuck"
)

func (o outcome) String() string {
	return fmt.Sprintf("%s, %s, %v, %d characters %+.80q: %s, status %d, %s", o.way, o.manner, o.order, o.characters(),
		o.text, o.result, o.status, o.generation)
}

func (e soakRequest) characters() int64 { return int64(utf8.RuneCountInString(e.text)) }

func (e soakRequest) carryOut() outcome {
	if strings.HasPrefix(e.way, "socket") {
		return e.converse()
	}
	return e.ask()
}

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// chance returns true with a probability of 1/times.
func chance(random *rand.Rand, times int) bool { return random.IntN(times) == 0 }

func (s *soak) drawRequest() soakRequest {
	random := s.random
	e := soakRequest{
		customer: pick(random, s.customers...),
		way: pick(random, "json", "json", "json", "multipart", "urlencoded", "get", "get", "detailed", "beta",
			"socket A", "socket B", "socket C"),
		manner: pick(random, polite, polite, polite, polite, polite, polite, impatient, leaves, leaves, slow, closesHalf,
			resets, wrong),
		patience:  time.Duration(random.IntN(20_000)) * time.Microsecond,
		bytes:     1 + random.IntN(60_000),
		takesBack: chance(random, 5),
		deletes:   chance(random, 2),
	}
	var language string
	language, e.text, e.hostile = drawText(random)
	e.order = drawOrder(random, language)
	switch e.way {
	case "get", "beta":
		delete(e.order, "return_durations")
	case "socket A", "socket B", "socket C":
		e.pieces = cutAnywhere(random, e.text)
		for _, unknown := range []string{"seed", "temperature", "debug", "return_timestamps", "return_durations"} {
			delete(e.order, unknown)
		}
	}
	if e.manner == wrong {
		e.spoil(random)
	}
	return e
}

func drawOrder(random *rand.Rand, language string) order {
	o := order{
		"voice":  pick(random, voice.Voices()...).ID,
		"format": pick(random, "aac", "mp3", "raw", "wav", "ulaw", "webm", "pcm_s16le", "pcm_f32le"),
	}
	for name, value := range map[string]any{
		"language":          language,
		"sample_rate":       pick(random, 8000, 16000, 24000),
		"speed":             pick(random, 0.5, 0.8, 1.3, 2.0),
		"model":             pick(random, "aurora", "blizzard", "blizzard-2.0", "blizzard-dialogue"),
		"seed":              random.IntN(1000),
		"temperature":       pick(random, 0.5, 2.0),
		"conversational":    true,
		"return_timestamps": true,
		"return_durations":  true,
	} {
		if chance(random, 2) {
			o[name] = value
		}
	}
	if chance(random, 10) {
		o["debug"] = true
	}
	return o
}

// drawText draws a text and its language. Most are short. A hostile one may have unspeakable segments.
func drawText(random *rand.Rand) (language, text string, hostile bool) {
	switch random.IntN(12) {
	case 0, 1, 2:
		return pick(random, voice.EngineLanguages()...), firstRunes(enginetest.HostileText(random), 1000), true
	case 3:
		return "auto", strings.Repeat(pick(random, "👩‍👩‍👧‍👦", "😀", "ש", "ק ", "\u0301", "\u200d", "一", "123 "),
			1+random.IntN(150)), true
	case 4, 5:
		spoken := foreignWords()[random.IntN(len(foreignWords()))]
		return spoken.language, strings.Repeat(spoken.words+" ", 1+random.IntN(8)), false
	case 6:
		return "en", prose(500 + random.IntN(1500)), false
	case 7:
		if chance(random, 4) {
			return "en", prose(5000), false
		}
	}
	return "en", prose(10 + random.IntN(250)), false
}

func foreignWords() []struct{ language, words string } {
	return []struct{ language, words string }{
		{"de", "Der Zug fährt um 7:35 Uhr von Gleis 12."}, {"fr", "Où est-ce que l'on trouve du pain à cette heure-ci ?"},
		{"es", "¿Cuántos años tiene la niña?"}, {"ru", "Сегодня хорошая погода."}, {"ar", "مرحبا بكم في المدينة."},
		{"ja", "こんにちは、元気ですか。"}, {"zh", "今天天气很好。"}, {"hi", "आज मौसम अच्छा है।"}, {"ko", "오늘은 날씨가 좋습니다."},
		{"el", "Καλημέρα σας."}, {"tr", "Bugün hava çok güzel."}, {"auto", "Hello, Привет, こんにちは & שלום!"},
	}
}

func firstRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}

// cutAnywhere cuts a text into pieces, even inside words.
func cutAnywhere(random *rand.Rand, text string) (pieces []string) {
	runes := []rune(text)
	longest := 1 + random.IntN(200)
	for len(runes) > 0 {
		n := min(1+random.IntN(longest), len(runes))
		pieces, runes = append(pieces, string(runes[:n])), runes[n:]
	}
	return pieces
}

// spoil turns the request into one that must be refused.
func (e *soakRequest) spoil(random *rand.Rand) {
	switch random.IntN(5) {
	case 0:
		e.order["voice"] = "unknown"
	case 1:
		e.order["format"] = "flac"
	case 2:
		e.order["speed"] = 7
	case 3:
		e.customer.key = "rk_nobodys"
	default:
		if e.pieces == nil {
			e.text = prose(5001)
			return
		}
		e.order["sample_rate"] = 44100
	}
}
