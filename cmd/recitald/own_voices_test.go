package main_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fasthttp/websocket"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

const voiceRoute = "/v1/ai/voice"

// ownVoice is a voice as the API shows it.
type ownVoice struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	State      string   `json:"state"`
	Owner      string   `json:"owner"`
	Type       string   `json:"type"`
	Starred    bool     `json:"starred"`
	Tags       []string `json:"tags"`
	PreviewURL *string  `json:"preview_url"`
	Reason     string   `json:"reason"`
}

// reference returns a recording of a text with the given number of characters, by a voice of the other engine.
func (s *server) reference(t *testing.T, format string, characters int) []byte {
	t.Helper()
	spoken := s.operator().post(t, bytesRoute, order{"text": prose(characters), "voice": "zeke", "model": "blizzard",
		"format": format, "language": "en"})
	require.Equal(t, 200, spoken.status, spoken.text())
	return spoken.body
}

// upload returns the request for a voice with recordings. The fields are alternating names and values.
func (c customer) upload(recordings [][]byte, fields ...string) *http.Request {
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = parts.WriteField(fields[i], fields[i+1]) // writing to a buffer never fails
	}
	for i, recording := range recordings {
		file, err := parts.CreateFormFile("files", fmt.Sprintf("recording %d", i))
		if err == nil {
			_, _ = file.Write(recording)
		}
	}
	_ = parts.Close()
	return c.request(http.MethodPost, voiceRoute, &form, "Content-Type", parts.FormDataContentType())
}

// clone creates a voice and returns it as in the reply.
func (c customer) clone(t *testing.T, recording []byte, fields ...string) (v ownVoice) {
	t.Helper()
	answer := requireOK(t, do(t, c.upload([][]byte{recording}, append([]string{"name", "Mine"}, fields...)...)))
	answer.decode(t, &v)
	return v
}

// readyVoice is clone, but waits until the voice is ready. On a slow machine that takes longer than the request.
func (c customer) readyVoice(t *testing.T, recording []byte, fields ...string) ownVoice {
	t.Helper()
	v := c.clone(t, recording, fields...)
	c.awaitVoice(t, v.ID, "ready")
	return c.ownVoice(t, v.ID)
}

func (c customer) ownVoice(t *testing.T, id string) (v ownVoice) {
	t.Helper()
	c.read(t, voiceRoute+"/"+id, &v)
	return v
}

// awaitVoice waits for a voice's state. Just after a start the read models may be behind.
func (c customer) awaitVoice(t *testing.T, id, state string) {
	t.Helper()
	var v ownVoice
	c.server.eventually(func() bool {
		answer := do(t, c.request(http.MethodGet, voiceRoute+"/"+id, nil))
		if answer.status == http.StatusServiceUnavailable {
			return false
		}
		require.Equal(t, 200, answer.status, answer.text())
		answer.decode(t, &v)
		return v.State == state || v.State == "broken" || v.State == "ready"
	})
	require.Equal(t, state, v.State, v.Reason)
}

func (c customer) deleteVoice(t *testing.T, id string) {
	t.Helper()
	answer := requireOK(t, do(t, c.request(http.MethodDelete, voiceRoute+"/"+id, nil)))
	require.JSONEq(t, `{"success":true}`, answer.text())
}

// voiceUsage returns the numbers of voices in GET /v1/account.
func (c customer) voiceUsage(t *testing.T) (instant, professional int) {
	t.Helper()
	shown := c.account(t)
	return shown.Usage.Instant, shown.Usage.Professional
}

// voiceBlobs returns the files of voices in the blob store.
func voiceBlobs(t *testing.T, root string) (found []string) {
	t.Helper()
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, voice.StreamPrefix) {
			found = append(found, path)
		}
		return nil // a file may be deleted during the walk
	})
	return found
}

// speakings returns requests to all HTTP routes that synthesise a text.
func (c customer) speakings(voice, text, format string) map[string]*http.Request {
	o := order{"text": text, "voice": voice, "format": format, "seed": 7}
	query := url.Values{"text": {text}, "voice": {voice}, "format": {format}, "seed": {"7"}}
	return map[string]*http.Request{
		"bytes":    c.request(http.MethodPost, bytesRoute, o.encode()),
		"detailed": c.request(http.MethodPost, detailedRoute, o.encode()),
		"get":      c.request(http.MethodGet, "/v1/ai/speech?"+query.Encode(), nil),
		"beta": c.request(http.MethodPost, "/speech/beta/synthesize", strings.NewReader(query.Encode()),
			"Content-Type", "application/x-www-form-urlencoded"),
	}
}

// spokenBy returns a voice's audio as headerless PCM.
func (c customer) spokenBy(t *testing.T, voice string) []byte {
	t.Helper()
	answer := c.post(t, bytesRoute, order{"text": threeSentences, "voice": voice, "format": "pcm_s16le", "seed": 7,
		"language": "en"})
	require.Equal(t, 200, answer.status, answer.text())
	return answer.body
}

func TestAClonedVoiceSpeaksOnEveryRoute(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c, stranger := s.openAccount("pro"), s.openAccount("pro")

	// given a voice cloned from a recording
	mine := c.readyVoice(t, s.reference(t, "wav", 250), "description", "Zyzzogeton speaks", "gender", "M", "tags", "one",
		"tags", "two")
	require.Regexp(t, "^[0-9a-f]{16}$", mine.ID)
	require.Equal(t, []any{"Mine", "me", "instant", []string{"one", "two"}},
		[]any{mine.Name, mine.Owner, mine.Type, mine.Tags})
	instant, professional := c.voiceUsage(t)
	require.Equal(t, []int{1, 0}, []int{instant, professional})

	// then it differs from the other voices, and the same seed gives the same audio on every route
	said := c.spokenBy(t, mine.ID)
	for _, other := range []string{"leah", "zeke", "morgan", "curtis", "ansel"} {
		require.False(t, bytes.Equal(said, c.spokenBy(t, other)), "it sounds like %s", other)
	}
	require.True(t, bytes.Equal(said, c.spokenBy(t, mine.ID)))
	for name, request := range c.speakings(mine.ID, threeSentences, "pcm_s16le") {
		answer := do(t, request)
		require.Equal(t, 200, answer.status, "%s: %s", name, answer.text())
		sound := answer.body
		if name == "detailed" {
			var r recording
			answer.decode(t, &r)
			sound = r.sound(t)
		}
		require.True(t, bytes.Equal(said, sound), name)
	}

	// and it speaks over sockets, with word times, and with the other models
	k := c.talk(t, order{"voice": mine.ID, "format": "pcm_s16le", "language": "en"})
	k.say(threeSentences, 7)
	k.send(order{"type": "finish"})
	require.Equal(t, websocket.CloseNormalClosure, k.end())
	require.Equal(t, threeSentences, k.said())
	requireSpeech(t, audio.Spec{Format: audio.PCMS16LE, SampleRate: 24000}, k.sound, k.spent)
	for _, model := range []string{"blizzard", "blizzard-dialogue"} {
		answer := c.post(t, bytesRoute, order{"text": threeSentences, "voice": mine.ID, "model": model, "format": "wav"})
		require.Equal(t, 200, answer.status, answer.text())
	}

	// and it has a preview at a signed address, and can be saved in a clip
	s.eventually(func() bool { return c.ownVoice(t, mine.ID).PreviewURL != nil })
	preview := requireOK(t, fetch(t, http.MethodGet, *c.ownVoice(t, mine.ID).PreviewURL))
	require.Equal(t, "audio/mpeg", preview.header.Get("Content-Type"))
	require.Equal(t, 404, fetch(t, http.MethodGet, s.address+voiceRoute+"/"+mine.ID+"/preview").status)
	requireOK(t, c.post(t, bytesRoute, order{"text": "Kept.", "voice": mine.ID, "debug": true}))
	require.Equal(t, mine.ID, c.clips(t).Clips[0].Voice)

	// and for other accounts it does not exist
	for name, request := range stranger.speakings(mine.ID, "Hello.", "mp3") {
		require.Equal(t, 404, do(t, request).status, name)
	}
	require.Equal(t, 404, do(t, stranger.request(http.MethodGet, voiceRoute+"/"+mine.ID, nil)).status)
	require.Equal(t, 404, do(t, stranger.request(http.MethodDelete, voiceRoute+"/"+mine.ID, nil)).status)
	require.Zero(t, stranger.usage(t))

	// and after a restart it is unchanged
	s.interrupt()
	s = start(t, data)
	c = c.at(s)
	require.True(t, bytes.Equal(said, c.spokenBy(t, mine.ID)))
	require.NotContains(t, read(t, s.log), "Zyzzogeton")
}

// Replies in progress continue when their voice is deleted. New requests are refused, even the next flush of an open
// socket.
func TestADeletedVoiceOnlyFinishesItsReplies(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("pro")
	reference := s.reference(t, "mp3", 200)
	mine, other := c.readyVoice(t, reference), c.readyVoice(t, reference)
	require.NotEqual(t, mine.ID, other.ID)
	require.True(t, bytes.Equal(c.spokenBy(t, mine.ID), c.spokenBy(t, other.ID)),
		"the same recording resulted in another voice")

	// given a reply to a slow client, and a socket between two flushes
	text := prose(5000)
	slow := slowly()
	defer slow.CloseIdleConnections()
	o := order{"text": text, "voice": mine.ID, "format": "pcm_s16le", "seed": 7}
	whole := requireOK(t, c.post(t, bytesRoute, o))
	streaming, err := slow.Do(c.request(http.MethodPost, bytesRoute, o.encode()).WithContext(t.Context()))
	require.NoError(t, err)
	defer streaming.Body.Close()
	begun := make([]byte, 4<<10)
	_, err = io.ReadFull(streaming.Body, begun)
	require.NoError(t, err)
	k := c.talk(t, order{"voice": mine.ID})
	k.send(order{"type": "text", "text": "This is said."}, order{"type": "flush", "nonce": 1})
	k.until("flush_complete")

	// when the voice is deleted
	c.deleteVoice(t, mine.ID)

	// then the reply is complete, the socket ends at its next flush, and new requests are refused
	rest, err := io.ReadAll(streaming.Body)
	require.NoError(t, err)
	require.True(t, bytes.Equal(whole.body, append(begun, rest...)))
	k.send(order{"type": "text", "text": "This is not said."}, order{"type": "flush", "nonce": 2})
	require.Equal(t, websocket.CloseProtocolError, k.end())
	require.Equal(t, "not_found_error", k.fault)
	require.Equal(t, "This is said.", k.said())
	for name, request := range c.speakings(mine.ID, "Hello.", "mp3") {
		require.Equal(t, 404, do(t, request).status, name)
	}
	require.Equal(t, 404, do(t, c.request(http.MethodGet, voiceRoute+"/"+mine.ID, nil)).status)
	said := threeSentences + threeSentences + text + text + "This is said."
	s.eventually(func() bool { return c.usage(t) == int64(utf8.RuneCountInString(said)) })

	// and its recordings and its data are erased, and so are all voices of a closed account
	blobsOf := func(id string) int {
		n := 0
		for _, path := range voiceBlobs(t, s.data) {
			if strings.Contains(path, id) {
				n++
			}
		}
		return n
	}
	s.eventually(func() bool { return blobsOf(mine.ID) == 0 })
	require.NotZero(t, blobsOf(other.ID))
	s.eventually(func() bool { n, _ := c.voiceUsage(t); return n == 1 })
	require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account", nil)).status)
	s.eventually(func() bool { return blobsOf(other.ID) == 0 })
}

func TestUnusableRecordingsMakeNoVoice(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("pro")
	recording := s.reference(t, "wav", 100)
	silence := append(bytes.Clone(recording[:44]), make([]byte, 200_000)...)
	huge := bytes.Clone(recording)
	copy(huge[40:44], []byte{0xff, 0xff, 0xff, 0xf0})
	for name, hostile := range map[string][]byte{
		"text":              []byte("This is no recording."),
		"a playlist":        []byte("#EXTM3U\nfile:///etc/passwd\n"),
		"silence":           silence,
		"a word of a voice": recording[:44+2000],
	} {
		answer := do(t, c.upload([][]byte{hostile}, "name", name))
		if answer.status == http.StatusUnprocessableEntity {
			continue
		}
		require.Equal(t, 200, answer.status, "%s: %s", name, answer.text())
		var v ownVoice
		answer.decode(t, &v)
		c.awaitVoice(t, v.ID, "broken")
		v = c.ownVoice(t, v.ID)
		require.NotEmpty(t, v.Reason, name)
		require.NotContains(t, v.Reason, "/", "%s: the reason has no path of this machine", name)
		for way, request := range c.speakings(v.ID, "Hello.", "mp3") {
			refused := do(t, request)
			require.Equal(t, 409, refused.status, "%s %s", name, way)
			require.Equal(t, "false", refused.header.Get("X-Should-Retry"))
			require.Empty(t, refused.header.Get("Retry-After"))
		}
		c.deleteVoice(t, v.ID)
	}
	require.Zero(t, c.usage(t))

	// and a file that is shorter than its header states is used
	require.Equal(t, "ready", c.readyVoice(t, huge).State)

	// and a professional voice is refused on the free plan
	free := s.openAccount("free")
	refused := do(t, free.upload([][]byte{recording}, "name", "Mine", "type", "professional"))
	require.Equal(t, 402, refused.status, refused.text())
	refused = do(t, c.upload([][]byte{recording}, "name", "Mine", "type", "intrinsic"))
	require.Equal(t, 422, refused.status, refused.text())
	short := c.clone(t, recording, "type", "professional")
	c.awaitVoice(t, short.ID, "broken")
	require.Contains(t, c.ownVoice(t, short.ID).Reason, "5 minutes")
}

// voiceEvents returns the events of a voice.
func voiceEvents[E voice.Event](s *server, id string) (found []E) {
	s.t.Helper()
	eachEvent(s.t, s.node(), func(event eventlog.Decoded) {
		if e, is := event.Event.(E); is && event.Stream == voice.Stream(id) {
			found = append(found, e)
		}
	})
	return found
}

// A recitald that is killed while it creates voices resumes after a restart.
func TestTheCreationOfVoicesResumesAfterAKill(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("enterprise")
	recording := s.reference(t, "mp3", 5000)

	// given an instant voice with an interrupted request that its client repeats
	request := c.upload([][]byte{recording[:len(recording)/8]}, "name", "Mine")
	request.Header.Set("Idempotency-Key", "once")
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
		}
	}()
	created := func() (id string) {
		eachEvent(t, s.node(), func(event eventlog.Decoded) {
			if e, is := event.Event.(voice.Created); is && e.Type == voice.Instant {
				id = e.Voice
			}
		})
		return id
	}
	s.eventually(func() bool { return created() != "" })
	instant := created()
	s.kill()
	<-cut
	s = start(t, data)
	c = c.at(s)
	c.awaitVoice(t, instant, "ready")
	again := c.upload([][]byte{recording[:len(recording)/8]}, "name", "Mine")
	again.Header.Set("Idempotency-Key", "once")
	answer := requireOK(t, do(t, again))
	var repeated ownVoice
	answer.decode(t, &repeated)
	require.Equal(t, instant, repeated.ID)
	other := c.upload([][]byte{recording[:len(recording)/8]}, "name", "Another")
	other.Header.Set("Idempotency-Key", "once")
	require.Equal(t, 422, do(t, other).status)

	// and a professional voice that is not ready
	answer = do(t, c.upload([][]byte{recording, recording[:len(recording)/3]}, "name", "Pro", "type", "professional"))
	require.Equal(t, 200, answer.status, answer.text())
	var pro ownVoice
	answer.decode(t, &pro)
	for name, request := range c.speakings(pro.ID, "Hello.", "mp3") {
		refused := do(t, request)
		require.Equal(t, 409, refused.status, name)
		require.NotEmpty(t, refused.header.Get("Retry-After"))
		require.Equal(t, "true", refused.header.Get("X-Should-Retry"))
	}

	// when recitald is killed during its training
	s.eventually(func() bool { return len(voiceEvents[voice.Analysed](s, pro.ID)) > 0 })
	s.kill()
	s = start(t, data)
	c = c.at(s)

	// then training resumes, and nothing is analysed twice
	c.awaitVoice(t, pro.ID, "ready")
	places := map[[2]int64]int{}
	analysed := voiceEvents[voice.Analysed](s, pro.ID)
	for _, e := range analysed {
		places[[2]int64{int64(e.Recording), e.From}]++
	}
	require.Len(t, places, len(analysed))
	require.Len(t, analysed, analysed[0].Total)
	require.NotEmpty(t, c.spokenBy(t, pro.ID))
	n, professional := c.voiceUsage(t)
	require.Equal(t, []int{1, 1}, []int{n, professional})
}

func TestAVoiceIsTheSameOnBothInstances(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	on := outsideServices(t)
	first, second := on.launchTwo(t)
	speaker := first.openAccount("enterprise")
	spoken := speaker.post(t, bytesRoute, order{"text": prose(250), "voice": "amy", "model": "blizzard", "format": "wav"})
	require.Equal(t, 200, spoken.status, spoken.text())
	for _, way := range [][2]*server{{first, second}, {second, first}} {
		c := way[0].openAccount("pro")
		mine := c.readyVoice(t, spoken.body)
		said := c.spokenBy(t, mine.ID)
		require.True(t, bytes.Equal(said, c.at(way[1]).spokenBy(t, mine.ID)))

		// a deletion takes effect immediately on the other instance
		c.deleteVoice(t, mine.ID)
		refused := c.at(way[1]).post(t, bytesRoute, order{"text": "Hello.", "voice": mine.ID})
		require.Equal(t, 404, refused.status, refused.text())
		way[0].eventually(func() bool { return len(voiceBlobs(t, on.blobs)) == 0 })
	}
}
