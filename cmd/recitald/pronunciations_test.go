package main_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"
)

const pronunciationsRoute = "/v1/account/pronunciations"

// pronunciation is an entry of a pronunciation list in a reply.
type pronunciation struct {
	ID, Word string
	Spoken   *string
	IPA      *string
	Language *string
}

// pronounces puts an entry into the account's list.
func (c customer) pronounces(t *testing.T, entry order) (kept pronunciation) {
	t.Helper()
	answer := requireOK(t, do(t, c.request("PUT", pronunciationsRoute, entry.encode())))
	require.NotEmpty(t, answer.header.Get("x-recital-position"))
	answer.decode(t, &kept)
	return kept
}

// lists returns a page of the account's list and the total number of entries.
func (c customer) lists(t *testing.T, query string) ([]pronunciation, int) {
	t.Helper()
	var page struct {
		Pronunciations []pronunciation
		Total          int
	}
	c.read(t, pronunciationsRoute+query, &page)
	return page.Pronunciations, page.Total
}

func TestAPronunciationListChangesWhatIsHeard(t *testing.T) {
	t.Parallel()
	s := share(t)
	c, other := s.openAccount("enterprise"), s.openAccount("enterprise")
	heard := func(c customer, text string) string {
		answer := c.post(t, bytesRoute, order{"text": text, "voice": "leah", "format": "raw", "language": "en"})
		require.Equal(t, 200, answer.status, answer.text())
		return string(answer.body)
	}
	const text, respelled = "Ask Xyzzyquux now.", "Ask blue whale now."
	before := heard(c, text)

	// when a word has a respelling, then every route speaks it, and the times are those of the word
	entry := c.pronounces(t, order{"word": "Xyzzyquux", "spoken": "blue whale", "language": "en"})
	require.Equal(t, heard(other, respelled), heard(c, text))
	require.Equal(t, heard(c, text), heard(c, text))
	require.Equal(t, before, heard(other, text))
	require.Equal(t, text, joined(c.timed(t, text, "en")))
	openAI := func(c customer, text string) string {
		answer := do(t, c.request("POST", "/v1/audio/speech", order{"input": text, "voice": "leah", "model": "aurora",
			"response_format": "pcm"}.encode()))
		require.Equal(t, 200, answer.status, answer.text())
		return string(answer.body)
	}
	require.Equal(t, openAI(other, respelled), openAI(c, text))
	used := c.usage(t)
	k := c.talk(t, order{"format": "pcm_s16le", "language": "en"})
	k.say(text, 1)
	k.send(order{"type": "finish"})
	require.Equal(t, websocket.CloseNormalClosure, k.end())
	require.Equal(t, text, k.said())
	require.EqualValues(t, used+int64(len(text)+1), c.usage(t))

	// and the longer respelling is billed
	answer := c.post(t, bytesRoute, order{"text": text, "voice": "leah", "language": "en"})
	require.Equal(t, strconv.Itoa(len(text)+1), answer.header.Get("x-character-count"))

	// and both engines speak phonemes
	c.pronounces(t, order{"word": "xyzzyquux", "ipa": "təˈmeɪtoʊ", "language": "en"})
	for _, model := range []string{"aurora", "blizzard"} {
		for _, said := range []string{"an xyzzyquux.", `<speak>an <phoneme ph="təˈmeɪtoʊ">xyzzyquux</phoneme>.</speak>`} {
			answer := c.post(t, bytesRoute, order{"text": said, "voice": "leah", "format": "raw", "model": model,
				"language": "en"})
			require.Equal(t, 200, answer.status, answer.text())
			same := other.post(t, bytesRoute, order{"text": `<speak>an <phoneme ph="təˈmeɪtoʊ">xyzzyquux</phoneme>.</speak>`,
				"voice": "leah", "format": "raw", "model": model, "language": "en"})
			require.Equal(t, string(same.body), string(answer.body), model)
		}
	}

	// and the list is read in pages, and shrinks
	list, total := c.lists(t, "?page_size=1&page=2")
	require.Len(t, list, 1)
	require.Equal(t, 2, total)
	require.Equal(t, "təˈmeɪtoʊ", *list[0].IPA)
	require.Nil(t, list[0].Spoken)
	require.Equal(t, entry, c.pronounces(t, order{"word": "Xyzzyquux", "spoken": " blue  whale", "language": "en"}))
	for _, status := range []int{200, 404} {
		require.Equal(t, status, do(t, c.request("DELETE", pronunciationsRoute+"/"+entry.ID, nil)).status)
	}
	_, total = c.lists(t, "")
	require.Equal(t, 1, total)
	s.requireSealed("Xyzzyquux", "pronunciation-set", 2)
}

func TestInvalidPronunciationsAreRefused(t *testing.T) {
	t.Parallel()
	c := share(t).openAccount("free")
	for field, entry := range map[string]order{
		"word":     {"word": "!", "spoken": "bang"},
		"spoken":   {"word": "a", "spoken": strings.Repeat("b", 201)},
		"ipa":      {"word": "a", "ipa": "køt", "language": "en"},
		"language": {"word": "a", "ipa": "kat"},
	} {
		answer := do(t, c.request("PUT", pronunciationsRoute, entry.encode()))
		require.Equal(t, 422, answer.status, field)
		require.Contains(t, answer.text(), `"`+field+`"`)
	}
	answer := do(t, c.request("PUT", pronunciationsRoute, order{"word": "a", "ipa": "køt", "language": "en"}.encode()))
	require.Contains(t, answer.text(), "column 2: ø is not a sound of the language")
	answer = c.post(t, bytesRoute, order{"text": `<speak>a <phoneme ph="køt">b</phoneme></speak>`, "voice": "leah",
		"language": "en"})
	require.Equal(t, 422, answer.status)
	require.Contains(t, answer.text(), "line 1, column 24: the ph of <phoneme>: ø is not a sound of the language")
	require.Zero(t, c.usage(t))
	_, total := c.lists(t, "")
	require.Zero(t, total)
}
