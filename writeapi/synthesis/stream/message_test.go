package stream

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi/synthesis/request"
)

func TestDialects(t *testing.T) {
	for opening, want := range map[string]dialect{
		`{}`: plain, `{"lmnt-version":"1.0"}`: plain, `{"lmnt-version":"banana"}`: plain,
		`{"lmnt-version":null,"type":null}`: plain,
		`{"protocol_version":1}`:            plain, `{"protocol_version":2}`: commanded,
		`{"protocol_version":"2"}`:                    commanded,
		`{"protocol_version":2,"lmnt-version":"1.1"}`: typed, `{"lmnt-version":1.1}`: typed, `{"lmnt-version":"9.9"}`: adding,
		`{"lmnt-version":"2025-09-25"}`: adding, `{"lmnt-version":1.2,"type":"init"}`: adding,
		`{"type":"init"}`: typed, `{"type":"init","lmnt-version":"1.0"}`: plain,
	} {
		got, isObject := dialectOf([]byte(opening))
		require.True(t, isObject)
		require.Equal(t, want, got, opening)
	}
}

// A text that is cut anywhere between two UTF-16 code units, as JavaScript cuts it, is restored.
func TestTextsCutBetweenCodeUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.StringOf(rapid.RuneFrom([]rune("ab\\\"é你🎉👨\n/u"))).Draw(t, "text"), "\x00", "")
		var p parser
		var got strings.Builder
		for _, unit := range units(text) {
			m, err := p.parse([]byte(`{"text":"` + unit + `"}`))
			require.NoError(t, err)
			got.WriteString(m.text)
		}
		require.NoError(t, p.ends(finish))
		require.Equal(t, text, got.String())
	})
}

// units returns the UTF-16 code units of a text, each as the inside of a JSON string.
func units(text string) (units []string) {
	for _, r := range text {
		quoted, _ := json.Marshal(string(r))
		inside := string(quoted[1 : len(quoted)-1])
		if r > 0xffff {
			r -= 0x10000
			units = append(units, escape(0xd800+r>>10), escape(0xdc00+r&0x3ff))
			continue
		}
		units = append(units, inside)
	}
	return units
}

func escape(unit rune) string {
	const digits = "0123456789abcdef"
	return `\u` + string([]byte{digits[unit>>12&15], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15]})
}

func FuzzParser(f *testing.F) {
	for _, seed := range []string{
		`{"text":"hello"}`, `{"flush":true}`, `{"eof":"true"}`, `{"command":"flush","nonce":1}`,
		`{"type":"reset","nonce":1.0}`, `{"type":"finish"}`,
		`{"text":"\ud83c"}` + "\n" + `{"text":"\udf89"}`, `{"text":null,"flush":false}`, `[]`,
		`{"nonce":99999999999999999999}`, `{"text":"\\\ud83c"}`,
	} {
		f.Add(seed)
	}
	decode := web.Decoder[request.Speech](request.Socket())
	f.Fuzz(func(t *testing.T, lines string) {
		var p parser
		for line := range strings.SplitSeq(lines, "\n") {
			raw := []byte(line)
			if !utf8.Valid(raw) {
				continue // the socket refuses it
			}
			_, _ = dialectOf(raw)
			if in, err := decode(raw); err == nil {
				_ = in.Synthesis()
			}
			m, err := p.parse(raw)
			if err == nil {
				err = p.ends(m.action)
			}
			if err != nil {
				require.NotZero(t, web.Explain(err).Status)
				require.Less(t, web.Explain(err).Status, 500, "what a client sends is never our error: %v", err)
				return
			}
			require.True(t, utf8.ValidString(m.text))
			require.NotContains(t, m.text, "\x00")
		}
	})
}
