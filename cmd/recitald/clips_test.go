package main_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/audio/libav/libavtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// clip is a saved result as the API shows it.
type clip struct {
	ID        string   `json:"id"`
	URL       string   `json:"url"`
	Voice     string   `json:"voice"`
	Timestamp int64    `json:"timestamp"`
	Text      *string  `json:"text"`
	Speed     *float64 `json:"speed"`
	Language  *string  `json:"language"`
	Debug     bool     `json:"debug"`

	OriginalText     string `json:"original_text"`
	OriginalLanguage string `json:"original_language"`
}

type clipPage struct {
	Clips      []clip `json:"clips"`
	Page       int    `json:"page"`
	PageSize   int    `json:"page_size"`
	TotalClips int    `json:"total_clips"`
	TotalPages int    `json:"total_pages"`
}

// clips returns the first page of GET /v1/account/clips.
func (c customer) clips(t *testing.T) (page clipPage) {
	t.Helper()
	c.read(t, "/v1/account/clips", &page)
	return page
}

// fetch requests a URL as a browser would: without a key.
func fetch(t *testing.T, method, address string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequest(method, address, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return do(t, request)
}

func TestAClipIsSavedPlayedAndDeleted(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c, stranger := s.openAccount("indie"), s.openAccount("indie")
	const text = "Zyzzogeton walks by the river. It is a cicada, and it sings when the sun is high."

	// given saved results, and one that was not saved
	sounds := map[string][]byte{} // by clip
	formats := map[string]audio.Format{}
	for _, format := range []audio.Format{audio.MP3, audio.WAV, audio.WebM} {
		spoken := c.post(t, bytesRoute, order{
			"text": text, "voice": "zeke", "format": format, "speed": 1.25, "seed": 7, "debug": true, "language": "en",
			"original_text": "Zyzzogeton geht am Fluss entlang.", "original_language": "de", "solver": "Zyzzogeton",
		})
		require.Equal(t, 200, spoken.status, spoken.text())
		id := spoken.header.Get("X-Clip-Id")
		// a WAV stream cannot state its length
		file := audio.Whole(audio.Spec{Format: format, SampleRate: 24000}, spoken.body)
		sounds[id], formats[id] = file, format
	}
	detailed := c.post(t, detailedRoute, order{"text": text, "voice": "zeke", "speed": 1.25, "debug": "true",
		"format": "wav", "language": "en"})
	require.Equal(t, 200, detailed.status)
	var r recording
	detailed.decode(t, &r)
	sounds[detailed.header.Get("X-Clip-Id")], formats[detailed.header.Get("X-Clip-Id")] = r.sound(t), audio.WAV
	plain := requireOK(t, c.post(t, bytesRoute, order{"text": text, "voice": "zeke"}))
	require.Empty(t, plain.header.Get("X-Clip-Id"))

	// then they are listed as soon as the replies have ended
	page := c.clips(t)
	require.Equal(t, 4, page.TotalClips)
	require.Len(t, page.Clips, 4)
	require.Zero(t, stranger.clips(t).TotalClips)

	// and they are listed after a restart
	s.interrupt()
	s = start(t, data)
	c, stranger = c.at(s), stranger.at(s)
	page = c.clips(t)
	require.Equal(t, clipPage{Clips: page.Clips, Page: 1, PageSize: 12, TotalClips: 4, TotalPages: 1}, page)
	for _, shown := range page.Clips {
		require.Equal(t, text, *shown.Text)
		require.Equal(t, "zeke", shown.Voice)
		require.Equal(t, 1.25, *shown.Speed)
		require.Equal(t, "en", *shown.Language, "the requested language")
		require.True(t, shown.Debug)
		if shown.ID != detailed.header.Get("X-Clip-Id") {
			require.Equal(t, "Zyzzogeton geht am Fluss entlang.", shown.OriginalText)
			require.Equal(t, "de", shown.OriginalLanguage)
		}
		require.True(t, strings.HasPrefix(shown.URL, s.address), shown.URL)
		s.requirePlays(shown, sounds[shown.ID], formats[shown.ID])

		// anyone who knows the id may see it
		one := requireOK(t, fetch(t, http.MethodGet, s.address+"/v1/account/clip/"+shown.ID))
		var same clip
		one.decode(t, &same)
		require.Equal(t, shown, same)
	}

	// and the text is stored only encrypted
	s.requireSealed("Zyzzogeton", "clip-saved", 4)

	// when another account tries to delete them, then they remain
	for _, shown := range page.Clips {
		refused := do(t, stranger.request(http.MethodDelete, "/v1/account/clip/"+shown.ID, nil))
		require.Equal(t, 404, refused.status, refused.text())
	}
	require.Equal(t, 4, c.clips(t).TotalClips)

	// when they are deleted, then their audio is deleted, too
	for i, shown := range page.Clips {
		deleted := requireOK(t, do(t, c.request(http.MethodDelete, "/v1/account/clip/"+shown.ID, nil)))
		require.JSONEq(t, `{"success":true}`, deleted.text())
		require.Equal(t, 3-i, c.clips(t).TotalClips)
		require.Equal(t, 404, fetch(t, http.MethodGet, shown.URL).status)
		require.Equal(t, 404, fetch(t, http.MethodGet, s.address+"/v1/account/clip/"+shown.ID).status)
		again := do(t, c.request(http.MethodDelete, "/v1/account/clip/"+shown.ID, nil))
		require.Equal(t, 404, again.status)
		require.Len(t, s.blobFiles(), 3-i)
	}
	s.requireSealed("Zyzzogeton", "clip-saved", 4)

	// and when a client disconnects during a reply that is being saved, then no part of it remains
	stream := c.record(t)
	s.eventually(func() bool { return s.figure("recital_spool_bytes") != 0 }) // it is being recorded
	require.NoError(t, stream.Close())
	s.requireSettledBooks()
	s.eventually(func() bool { return s.figure("recital_spool_bytes") == 0 })
	require.Empty(t, s.blobFiles())
	require.Zero(t, c.clips(t).TotalClips)
}

// requirePlays checks that a clip's URL returns its audio, whole and in ranges, and that a forged URL does not.
func (s *server) requirePlays(c clip, sound []byte, format audio.Format) {
	t := s.t
	t.Helper()
	whole := requireOK(t, fetch(t, http.MethodGet, c.URL))
	require.Equal(t, sound, whole.body, "the clip plays the synthesised audio")
	require.Equal(t, format.ContentType(), whole.header.Get("Content-Type"))
	require.Equal(t, "bytes", whole.header.Get("Accept-Ranges"))
	require.Equal(t, fmt.Sprint(len(sound)), whole.header.Get("Content-Length"))
	decoded, err := libavtest.Decode(format, whole.body)
	require.NoError(t, err)
	require.Greater(t, decoded.Seconds(), 2.0)

	part := fetch(t, http.MethodGet, c.URL, "Range", "bytes=100-299")
	require.Equal(t, 206, part.status)
	require.Equal(t, sound[100:300], part.body)
	require.Equal(t, fmt.Sprintf("bytes 100-299/%d", len(sound)), part.header.Get("Content-Range"))
	head := requireOK(t, fetch(t, http.MethodHead, c.URL))
	require.Equal(t, fmt.Sprint(len(sound)), head.header.Get("Content-Length"))

	unsigned, _, _ := strings.Cut(c.URL, "?")
	require.Equal(t, 422, fetch(t, http.MethodGet, unsigned).status)
	require.Equal(t, 403, fetch(t, http.MethodGet, unsigned+"?sig=AAAAAAAAAAAAAAAAAAAAAA").status)
}

// blobFiles returns the files in which blobs are stored, including unfinished ones.
func (s *server) blobFiles() (files []string) {
	s.t.Helper()
	require.NoError(s.t, filepath.WalkDir(filepath.Join(s.data, "blobs"),
		func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files = append(files, path)
			}
			return err
		}))
	return files
}

// requireSealed checks that a word is in no event, in no row and in no line of the log, not even encoded. The log must
// contain the given number of events of a type.
func (s *server) requireSealed(word, eventType string, events int) {
	s.t.Helper()
	requireAbsent := func(where, told string) {
		require.NotContains(s.t, strings.ToLower(told), strings.ToLower(word), where)
		for cut := range 3 { // base64 depends on the position of the word
			encoded := base64.StdEncoding.EncodeToString([]byte(word)[cut : cut+6])
			require.NotContains(s.t, told, encoded, where)
		}
	}
	requireAbsent("the log", read(s.t, s.log))
	log, err := esdb.Open(esdb.Config{Socket: filepath.Join(s.data, "eventnode", "node.sock"),
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	defer log.Close()
	seen := 0
	subscription := log.Subscribe(s.t.Context(), eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind == eventlog.KindCaughtUp {
			break
		}
		requireAbsent("event "+delivery.Event.Type, string(delivery.Event.Data)+string(delivery.Event.Metadata))
		if delivery.Event.Type == eventType {
			seen++
		}
	}
	require.Equal(s.t, events, seen, "events of the type "+eventType)
	for table, rows := range s.everyRow() {
		requireAbsent("table "+table, rows)
	}
}

// everyRow returns the contents of Postgres as text, by table.
func (s *server) everyRow() map[string]string {
	s.t.Helper()
	ctx := s.t.Context()
	connection := s.postgres()
	found, err := connection.Query(ctx, `select format('%I.%I', schemaname, tablename) from pg_tables
		where schemaname not in ('pg_catalog', 'information_schema')`)
	require.NoError(s.t, err)
	tables, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(s.t, err)
	_, err = connection.Exec(ctx, `set bytea_output = 'escape'`) // bytes that are text are printed as text
	require.NoError(s.t, err)
	rows := map[string]string{}
	for _, table := range tables {
		var text *string
		require.NoError(s.t, connection.QueryRow(ctx, `select string_agg(t::text, ' ') from `+table+` t`).Scan(&text))
		if text != nil {
			rows[table] = *text
		}
	}
	require.NotEmpty(s.t, rows)
	return rows
}

// record starts saving a long result, and reads only its first bytes.
func (c customer) record(t *testing.T) io.Closer {
	t.Helper()
	wanted := long().order()
	wanted["debug"] = true
	client := slowly()
	response, err := client.Do(c.request(http.MethodPost, bytesRoute, wanted.encode()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, 200, response.StatusCode)
	_, err = io.ReadFull(response.Body, make([]byte, 4<<10))
	require.NoError(t, err)
	return response.Body
}

func TestAKilledRecitaldLeavesNoPartialClip(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data := dataFolder(t)
	s := start(t, data)
	c := s.openAccount("indie")
	saved := requireOK(t, c.post(t, bytesRoute, order{"text": prose(200), "voice": "leah", "debug": true}))

	// given a recitald that is killed while it records
	c.record(t)
	s.eventually(func() bool { return s.figure("recital_spool_bytes") != 0 })
	s.kill()

	// when it restarts, then exactly the saved clips are there
	s = start(t, data)
	c = c.at(s)
	require.Len(t, s.blobFiles(), 1)
	page := c.clips(t)
	require.Equal(t, 1, page.TotalClips)
	require.Equal(t, saved.body, fetch(t, http.MethodGet, page.Clips[0].URL).body)
}
