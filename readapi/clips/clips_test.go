package clips

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/accounts"
	clipsevents "github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/links"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/projections/clips"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// world is a world with clips, and a server over them.
type world struct {
	*feedtest.World
	t     testing.TB
	keys  *pgkeys.Keyring
	store *folder.Store
	url   string
	saved int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	registry := feedtest.Registry(t, clipsevents.Events(), accounts.Events())
	s := &world{World: feedtest.New(t, registry, clips.ReadModels()...), t: t}
	s.keys = s.openKeys()
	var err error
	s.store, err = folder.Open(folder.Config{
		Dir: t.TempDir(), Instance: "test", Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	s.url = s.serve(links.New("", []byte("secret")))
	return s
}

func (s *world) openKeys() *pgkeys.Keyring {
	s.t.Helper()
	keys, err := pgkeys.New(pgkeys.Config{
		Pool: s.Pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(s.t, err)
	return keys
}

func (s *world) serve(made links.Links) string {
	api := API{Models: s.Projector, Keys: s.keys, Links: made, Sealed: sealed.New(s.store, s.keys)}
	return webtest.Serve(s.t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}})
}

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// clipSound is the audio of all clips here.
const clipSound = "0123456789abcdefghijklmnopqrstuvwxyz"

// put stores the audio of a clip.
func (s *world) put(account string, address blobs.Address) blobs.Blob {
	s.t.Helper()
	vault := sealed.New(s.store, s.keys)
	envelope, err := vault.Envelope(s.t.Context(), account, address)
	require.NoError(s.t, err)
	blob, err := vault.Put(s.t.Context(), envelope, strings.NewReader(clipSound), int64(len(clipSound)))
	require.NoError(s.t, err)
	return blob
}

// save saves a clip with its audio, and returns its id.
func (s *world) save(account, text string, change ...func(*clip.Saved)) string {
	s.t.Helper()
	return s.saveContent(account, clip.Content{Text: text, OriginalText: "the original", Solver: "any"}, change...)
}

func (s *world) saveContent(account string, said clip.Content, change ...func(*clip.Saved)) string {
	s.t.Helper()
	s.saved++
	id := fmt.Sprintf("%032x", s.saved)
	content, err := json.Marshal(said)
	require.NoError(s.t, err)
	sealed, err := s.keys.Seal(s.t.Context(), account, content, clip.SealedFor(id))
	require.NoError(s.t, err)
	blob := s.put(account, blobs.NewAddress(blobs.Owner(clip.Stream(id))))
	saved := clip.Saved{
		Clip: id, Account: account, Voice: "leah", Language: "en-us", Speed: 1, Format: "mp3", SampleRate: 24000,
		MediaType:  "audio/mpeg",
		Characters: int64(len([]rune(said.Text))), Milliseconds: 1000, Blob: string(blob.Address), Bytes: blob.Size,
		Debug: true, Sealed: sealed,
		At: noon.Add(time.Duration(s.saved) * time.Minute),
	}
	for _, f := range change {
		f(&saved)
	}
	s.Write(s.t, clip.Stream(id), saved)
	return id
}

// answer returns the reply to a request; an empty key sends none.
func (s *world) answer(method, address, key string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	return webtest.Send(s.t, method, address, "", append(headers, "x-api-key", key)...)
}

// list returns a page of an account's clips.
func (s *world) list(account, query string) clipsResponse {
	s.t.Helper()
	response, body := s.answer(http.MethodGet, s.url+"/v1/account/clips"+query, account)
	require.Equal(s.t, http.StatusOK, response.StatusCode, body)
	var page clipsResponse
	require.NoError(s.t, json.Unmarshal([]byte(body), &page))
	return page
}

func texts(page clipsResponse) (texts []string) {
	for _, c := range page.Clips {
		texts = append(texts, *c.Text)
	}
	return texts
}

func TestAClipShowsTheLanguageThatWasAskedFor(t *testing.T) {
	s := newWorld(t)
	spoken := func(c *clip.Saved) { c.Language = "pt-br" }
	for _, c := range []struct{ asked, shown string }{{"pt_BR", "pt_BR"}, {"", "pt-br"}} {
		id := s.saveContent("a1", clip.Content{Text: "Olá", Language: c.asked}, spoken)
		_, body := s.answer(http.MethodGet, s.url+"/v1/account/clip/"+id, "")
		require.Contains(t, body, `"language":"`+c.shown+`"`)
	}
	require.Len(t, s.list("a1", "?language=pt-br").Clips, 2, "whatever it was called")
}

func TestAClipIsShownAsDocumented(t *testing.T) {
	s := newWorld(t)
	id := s.save("a1", "“Grüße” <1>", func(c *clip.Saved) { c.Speed, c.Language, c.Voice = 0.25, "pt-br", "zeke" })

	want := map[string]any{
		"id": id, "url": s.url + "/v1/account/clip/" + id + "/audio?sig=", "voice": "zeke",
		"timestamp": float64(noon.Add(time.Minute).Unix()),
		"text":      "“Grüße” <1>", "speed": 0.25, "language": "pt-br", "debug": true, "original_text": "the original",
		"media_type": "audio/mpeg",
	}
	requireShown := func(got map[string]any) {
		t.Helper()
		address := got["url"].(string)
		require.True(t, strings.HasPrefix(address, want["url"].(string)), address)
		require.LessOrEqual(t, len(address), 2083)
		got["url"] = want["url"]
		require.Equal(t, want, got)
	}
	response, body := s.answer(http.MethodGet, s.url+"/v1/account/clip/"+id, "")
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	var one map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &one))
	requireShown(one)

	_, body = s.answer(http.MethodGet, s.url+"/v1/account/clips", "a1")
	var page map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	clips := page["clips"].([]any)
	require.Len(t, clips, 1)
	requireShown(clips[0].(map[string]any))
	delete(page, "clips")
	require.Equal(t, map[string]any{"page": 1.0, "page_size": 12.0, "total_clips": 1.0, "total_pages": 1.0}, page)

	for _, unknown := range []string{strings.Repeat("0", 32), "x", "%2e%2e", "a%27b", strings.Repeat("a", 500)} {
		response, body = s.answer(http.MethodGet, s.url+"/v1/account/clip/"+unknown, "")
		require.Equal(t, http.StatusNotFound, response.StatusCode, body)
	}
}

func TestAnAccountWithoutClips(t *testing.T) {
	s := newWorld(t)
	s.save("a2", "of another")
	response, body := s.answer(http.MethodGet, s.url+"/v1/account/clips?page=3", "a1")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.JSONEq(t, `{"clips":[],"page":3,"page_size":12,"total_clips":0,"total_pages":0}`, body)
	response, _ = s.answer(http.MethodGet, s.url+"/v1/account/clips", "")
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
}

func TestWhatListsAreFilteredBy(t *testing.T) {
	s := newWorld(t)
	language := func(l string) func(*clip.Saved) { return func(c *clip.Saved) { c.Language = l } }
	s.save("a1", "american", language("en-us"))
	s.save("a1", "british", language("en-gb"))
	s.save("a1", "german", language("de"))
	s.save("a1", "played", language("en-us"), func(c *clip.Saved) { c.Debug = false })
	s.save("a1", "raw", language("fr"), func(c *clip.Saved) { c.Debug, c.MediaType, c.Voice = false, "audio/wav", "zeke" })
	s.save("a2", "of another", language("en-us"))
	for query, want := range map[string][]string{
		"":                         {"raw", "played", "german", "british", "american"},
		"?debug=false":             {"raw", "played", "german", "british", "american"},
		"?debug=true":              {"german", "british", "american"},
		"?language=en":             {"played", "british", "american"},
		"?language=en-us":          {"played", "american"},
		"?language=EN_US":          {"played", "american"},
		"?language=de":             {"german"},
		"?language=e":              nil,
		"?language=%25":            nil,
		"?language=pl":             nil,
		"?language=":               {"raw", "played", "german", "british", "american"},
		"?language=en&debug=true":  {"british", "american"},
		"?language=en&page_size=1": {"played"},
		"?voice=leah":              {"played", "german", "british", "american"},
		"?voice=ava":               nil,
		"?media_type=audio/wav":    {"raw"},
		"?media_type=audio/aac":    nil,
		"?media_type=audio/mpeg&sort_by=text_length&language=en&page_size=2":                    {"american", "british"},
		fmt.Sprintf("?since=%d&media_type=audio/mpeg", noon.Unix()+3*60):                        {"played", "german"},
		fmt.Sprintf("?since=%d&media_type=audio/wav&voice=zeke", noon.Unix()+3*60):              {"raw"},
		fmt.Sprintf("?since=%d", noon.Unix()+3*60):                                              {"raw", "played", "german"},
		fmt.Sprintf("?until=%d", noon.Unix()+3*60):                                              {"british", "american"},
		fmt.Sprintf("?since=%d&until=%d&voice=leah&language=en", noon.Unix(), noon.Unix()+4*60): {"british", "american"},
	} {
		require.Equal(t, want, texts(s.list("a1", query)), query)
	}
	require.EqualValues(t, 3, s.list("a1", "?language=en&page_size=1").TotalClips)
}

func TestWhatListsRefuse(t *testing.T) {
	s := newWorld(t)
	for query, kind := range map[string]string{
		"?page=0": "greater_than", "?page=-1": "greater_than", "?page_size=0": "greater_than", "?page=x": "int_parsing",
		"?page=1.5": "int_parsing", "?page=" + strings.Repeat("9", 4301): "int_parsing_size",
		"?sort_by=text": "literal_error", "?sort_order=up": "literal_error",
		"?debug=maybe": "bool_parsing", "?since=-1": "greater_than_equal", "?until=999999999999": "less_than_equal",
		"?since=1&sort_by=voice": "value_error", "?voice=leah&sort_by=text_length": "value_error",
	} {
		response, body := s.answer(http.MethodGet, s.url+"/v1/account/clips"+query, "a1")
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, query)
		require.Contains(t, body, kind, query)
	}
}

func TestPagesShowEachClipOnceInOrder(t *testing.T) {
	// given clips, many of which are equal in the columns of an order
	s := newWorld(t)
	type row struct {
		id, voice string
		length    int
		at        time.Time
	}
	var rows []row
	for i := range 23 {
		r := row{voice: []string{"ava", "leah", "zeke"}[i%3], length: 1 + i%4, at: noon.Add(time.Duration(i/5) * time.Second)}
		r.id = s.save("a1", strings.Repeat("x", r.length), func(c *clip.Saved) { c.Voice, c.At = r.voice, r.at })
		rows = append(rows, r)
	}
	compare := map[string]func(a, b row) int{
		"timestamp":   func(a, b row) int { return 0 },
		"text_length": func(a, b row) int { return a.length - b.length },
		"voice":       func(a, b row) int { return strings.Compare(a.voice, b.voice) },
	}
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SampledFrom([]string{"timestamp", "text_length", "voice"}).Draw(rt, "sort_by")
		order := rapid.SampledFrom([]string{"asc", "desc"}).Draw(rt, "sort_order")
		size := rapid.IntRange(1, 30).Draw(rt, "page_size")

		sorted := slices.Clone(rows)
		slices.SortFunc(sorted, func(a, b row) int {
			c := compare[by](a, b)
			if c == 0 {
				c = a.at.Compare(b.at)
			}
			if c == 0 {
				c = strings.Compare(a.id, b.id)
			}
			if order == "desc" {
				c = -c
			}
			return c
		})
		var want, got []string
		for _, r := range sorted {
			want = append(want, r.id)
		}
		pages := (len(rows) + size - 1) / size
		for page := 1; page <= pages+1; page++ {
			p := s.list("a1", fmt.Sprintf("?page=%d&page_size=%d&sort_by=%s&sort_order=%s", page, size, by, order))
			require.Equal(rt, clipsResponse{Clips: p.Clips, Page: page, PageSize: size, TotalClips: 23,
				TotalPages: int64(pages)}, p)
			for _, c := range p.Clips {
				got = append(got, idOf(rt, c))
			}
		}
		require.Equal(rt, want, got)
	})
}

func idOf(t require.TestingT, c Clip) string {
	address, err := url.Parse(c.URL)
	require.NoError(t, err)
	return strings.Split(address.Path, "/")[4]
}

func TestPagesAreBounded(t *testing.T) {
	s := newWorld(t)
	s.save("a1", "one")
	page := s.list("a1", "?page_size=9223372036854775807")
	require.Equal(t, maxPageSize, page.PageSize)
	require.Len(t, page.Clips, 1)
	for _, number := range []string{"9223372036854775807", "99999999999999999999"} {
		far := s.list("a1", "?page="+number+"&page_size=1000")
		require.Empty(t, far.Clips)
		require.EqualValues(t, 1, far.TotalClips)
	}
}

func TestWhatWasSealedEndsWithItsKey(t *testing.T) {
	s := newWorld(t)
	s.save("a1", "erased")
	require.NoError(t, s.keys.Erase(t.Context(), "a1"))
	page := s.list("a1", "")
	require.Nil(t, page.Clips[0].Text)
	response, body := s.answer(http.MethodGet, page.Clips[0].URL, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode, body)

	// but if the keyring is unavailable, the request fails
	other := s.save("a2", "there")
	s.keys = s.openKeys() // with an empty cache
	made := links.New("", []byte("secret"))
	server := s.serve(made)
	_, err := s.Pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
	require.NoError(t, err)
	played := made.ClipAudio("", other)
	for _, path := range []string{"/v1/account/clip/" + other, played[strings.Index(played, "/v1/"):]} {
		response, body = s.answer(http.MethodGet, server+path, "")
		require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, body)
		require.NotEmpty(t, response.Header.Get("Retry-After"))
	}
}

func TestTheAudioIsServedInParts(t *testing.T) {
	s := newWorld(t)
	s.save("a1", "to be played")
	address := s.list("a1", "").Clips[0].URL
	whole, body := s.answer(http.MethodGet, address, "")
	require.Equal(t, http.StatusOK, whole.StatusCode)
	require.Equal(t, clipSound, body)
	tag := whole.Header.Get("ETag")
	for name, c := range map[string]struct {
		headers []string
		status  int
		body    string
		content string // Content-Range
	}{
		"the first bytes":    {[]string{"Range", "bytes=0-9"}, 206, "0123456789", "bytes 0-9/36"},
		"one byte":           {[]string{"Range", "bytes=35-35"}, 206, "z", "bytes 35-35/36"},
		"to the end":         {[]string{"Range", "bytes=30-"}, 206, "uvwxyz", "bytes 30-35/36"},
		"past the end":       {[]string{"Range", "bytes=30-99"}, 206, "uvwxyz", "bytes 30-35/36"},
		"the last bytes":     {[]string{"Range", "bytes=-3"}, 206, "xyz", "bytes 33-35/36"},
		"more than there is": {[]string{"Range", "bytes=-99"}, 206, clipSound, "bytes 0-35/36"},
		"behind the end":     {[]string{"Range", "bytes=36-"}, 416, "", "bytes */36"},
		"none of the last":   {[]string{"Range", "bytes=-0"}, 416, "", "bytes */36"},
		"backwards":          {[]string{"Range", "bytes=9-0"}, 200, clipSound, ""},
		"several":            {[]string{"Range", "bytes=0-1,3-4"}, 200, clipSound, ""},
		"another unit":       {[]string{"Range", "seconds=0-1"}, 200, clipSound, ""},
		"the same as before": {[]string{"Range", "bytes=0-1", "If-Range", tag}, 206, "01", "bytes 0-1/36"},
		"another one":        {[]string{"Range", "bytes=0-1", "If-Range", `"other"`}, 200, clipSound, ""},
		"known":              {[]string{"If-None-Match", tag}, 304, "", ""},
		"anything known":     {[]string{"If-None-Match", "*"}, 304, "", ""},
		"another one known":  {[]string{"If-None-Match", `"other"`}, 200, clipSound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := s.answer(http.MethodGet, address, "", c.headers...)
			require.Equal(t, c.status, response.StatusCode, body)
			require.Equal(t, c.content, response.Header.Get("Content-Range"))
			require.Equal(t, tag, response.Header.Get("ETag"))
			require.Equal(t, "bytes", response.Header.Get("Accept-Ranges"))
			require.Equal(t, "private, no-cache", response.Header.Get("Cache-Control"))
			if c.status == 416 {
				require.Contains(t, body, "range")
				return
			}
			require.Equal(t, c.body, body)
			if c.status != 304 {
				require.EqualValues(t, len(c.body), response.ContentLength)
				require.Equal(t, "audio/mpeg", response.Header.Get("Content-Type"))
			}

			head, _ := s.answer(http.MethodHead, address, "", c.headers...)
			require.Equal(t, c.status, head.StatusCode)
			require.Equal(t, c.content, head.Header.Get("Content-Range"))
			if c.status != 304 {
				require.EqualValues(t, len(c.body), head.ContentLength)
			}
		})
	}
}

func TestTheAudioIsForThoseWhoHaveItsAddressWhileTheClipIsThere(t *testing.T) {
	s := newWorld(t)
	id := s.save("a1", "to be deleted")
	address := s.list("a1", "").Clips[0].URL
	for _, forged := range []string{"sig=", "sig=x", "sig=" + strings.Repeat("A", 22)} {
		plain, _, _ := strings.Cut(address, "sig=")
		response, _ := s.answer(http.MethodGet, plain+forged, "a1")
		require.Equal(t, http.StatusForbidden, response.StatusCode)
		missing := strings.Replace(plain, id, strings.Repeat("9", 32), 1)
		response, _ = s.answer(http.MethodGet, missing+forged, "a1")
		require.Equal(t, http.StatusForbidden, response.StatusCode, "nobody learns which clips there are")
	}

	// when its blob is lost, then the reply is a 404
	blob, err := s.store.Stat(t.Context(), s.blobOf(id))
	require.NoError(t, err)
	require.NoError(t, s.store.Delete(t.Context(), blob.Address))
	response, _ := s.answer(http.MethodGet, address, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.EqualValues(t, 1, s.list("a1", "").TotalClips)

	// when the clip is deleted, then its address no longer works
	s.Append(s.t, clip.Stream(id), 0, clip.Deleted{Clip: id, Account: "a1", Blob: string(blob.Address), At: noon})
	response, _ = s.answer(http.MethodGet, address, "")
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Zero(t, s.list("a1", "").TotalClips)
}

func (s *world) blobOf(id string) (address blobs.Address) {
	s.t.Helper()
	require.NoError(s.t, s.Pool.QueryRow(s.t.Context(), `select blob from read_v3.clips where clip_id = $1`,
		id).Scan(&address))
	return address
}
