package clips

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/testing/benchtest"
	"github.com/recital-tts/recital/readapi"
)

// BenchmarkClipList reads pages of an account with many clips, in each order, compared with a bare query of the same
// clips, which knows the start of its page, and neither counts nor decrypts. Half of the clips are of one voice, and a
// language is rare. A figure is the median time of a page, over HTTP; "filtered" is the slowest of pages by a frequent
// and by a rare language and by debug. clips/s is the rate of the projection.
func BenchmarkClipList(b *testing.B) {
	for _, n := range []int{benchtest.Size(10_000, 1000), benchtest.Size(1_000_000, 3000)} {
		s := newWorld(b)
		began := time.Now()
		s.fill(n, func(*clip.Saved) {})
		shown := float64(n) / time.Since(began).Seconds()
		for by := range clipOrders {
			for _, order := range []string{"asc", "desc"} {
				b.Run(fmt.Sprintf("clips=%d/%s/%s", n, by, order), func(b *testing.B) {
					s.benchmarkOrder(b, int64(n), by, order)
					b.ReportMetric(shown, "clips/s")
				})
			}
		}
	}
}

// benchPage is the default size of a page.
const benchPage = 12

func (s *world) benchmarkOrder(b *testing.B, n int64, by, order string) {
	last := (n + benchPage - 1) / benchPage
	pages := map[string]int64{"first": 1, "middle": (last + 1) / 2, "last": last}
	ours, bare := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for name, page := range pages {
			ours[name] = append(ours[name], s.timeList(b, by, order, page, ""))
			bare[name] = append(bare[name], s.timeBare(b, by, order, page))
		}
		slowest := 0.0
		for _, filter := range []string{"&language=en", "&language=fr", "&debug=true", "&language=de&debug=true"} {
			pages := s.list("big", "?page_size=12"+filter).TotalPages
			for _, page := range []int64{1, (pages + 1) / 2, pages} {
				slowest = max(slowest, s.timeList(b, by, order, page, filter))
			}
		}
		ours["filtered"] = append(ours["filtered"], slowest)
	}
	for name := range pages {
		benchtest.Compare(b, "ms-"+name, benchtest.Median(ours[name]), benchtest.Median(bare[name]))
	}
	b.ReportMetric(benchtest.Median(ours["filtered"]), "ms-filtered")
	benchtest.Finish(b)
}

func (s *world) timeList(b *testing.B, by, order string, page int64, filter string) float64 {
	b.Helper()
	address := fmt.Sprintf("%s/v1/account/clips?page=%d&page_size=%d&sort_by=%s&sort_order=%s%s",
		s.url, page, benchPage, by, order, filter)
	began := time.Now()
	response, body := s.answer(http.MethodGet, address, "big")
	took := time.Since(began)
	require.Equal(b, http.StatusOK, response.StatusCode, body)
	require.NotContains(b, body, `"clips":[]`)
	return took.Seconds() * 1000
}

// timeBare measures a query that begins at the page's first clip, which was looked up before.
func (s *world) timeBare(b *testing.B, by, order string, page int64) float64 {
	b.Helper()
	by = clipOrders[by].by
	compared, sorted := `>=`, by
	if order == "desc" {
		compared, sorted = `<=`, strings.ReplaceAll(by, ",", " desc,")+" desc"
	}
	var first string
	row := s.Pool.QueryRow(b.Context(),
		`select clip_id`+fromClips+` where account_id = 'big' order by `+sorted+` offset $1 limit 1`, (page-1)*benchPage)
	require.NoError(b, row.Scan(&first))
	began := time.Now()
	query := readapi.From(readmodel.ClipsView, `where account_id = 'big' and (`+by+`) `+compared+`
		(select `+by+fromClips+` where clip_id = $1) order by `+sorted+` limit $2`, "")
	rows, err := s.Pool.Query(b.Context(), query.SQL, first, benchPage)
	require.NoError(b, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[readmodel.ClipRow])
	took := time.Since(began)
	require.NoError(b, err)
	require.NotEmpty(b, found)
	return took.Seconds() * 1000
}

// fill gives the account "big" clips, each of them changed, and returns their ids.
func (s *world) fill(n int, change func(*clip.Saved)) (ids []string) {
	random := rand.New(rand.NewPCG(1, 2))
	voices := []string{"leah", "leah", "leah", "ava", "zeke", "amy"}
	var last eventlog.Position
	for done := 0; done < n; {
		var events []any
		for ; len(events) < 500 && done < n; done++ {
			id := fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
			content, err := json.Marshal(clip.Content{Text: "What was said, which is as long as what people say."})
			require.NoError(s.t, err)
			sealed, err := s.keys.Seal(s.t.Context(), "big", content, clip.SealedFor(id))
			require.NoError(s.t, err)
			length := min(1+random.Int64N(2000), 1+random.Int64N(2000), 1+random.Int64N(2000))
			saved := clip.Saved{
				Clip: id, Account: "big", Voice: voices[random.IntN(len(voices))], Language: drawLanguage(random.IntN(1000)),
				Speed: 1, Format: "mp3",
				SampleRate: 24000, MediaType: "audio/mpeg", Characters: length, Milliseconds: 1000, Bytes: 4000,
				Blob: "clip-" + id + "." + id + id, Debug: random.IntN(10) == 0, Sealed: sealed,
				At: noon.Add(time.Duration(done) * 31 * time.Second),
			}
			change(&saved)
			events, ids = append(events, saved), append(ids, id)
		}
		last = s.appendClips(events)
	}
	require.NoError(s.t, s.Projector.Wait(s.t.Context(), last))
	return ids
}

func drawLanguage(promille int) string {
	switch {
	case promille < 700:
		return "en-us"
	case promille < 900:
		return "en-gb"
	case promille < 990:
		return "de"
	}
	return "fr"
}
