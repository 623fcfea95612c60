package clips

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// plainPage selects a page in the plain way: it counts all clips, and skips those before the page.
const plainPage = `with filtered as (
	select clip_id, characters, saved_at, voice from read_v3.clips
	where account_id = 'big' and ($1 = '' or language = $1 or starts_with(language, $1 || '-')) and (debug or not $2)
	and ($5 = '' or voice = $5) and ($8 = '' or media_type = $8) and saved_at >= to_timestamp($6)
	and saved_at < to_timestamp($7))
select (select count(*) from filtered), array(select clip_id from filtered order by %s limit $3 offset $4)`

func TestPagesOfManyClipsAreThoseOfAPlainQuery(t *testing.T) {
	// given enough clips for several ranges in each order, a third of them saved at one instant by one voice, and many of
	// them deleted
	s := newWorld(t)
	n := 0
	ids := s.fill(12_000, func(c *clip.Saved) {
		if n%7 == 0 {
			c.MediaType = "audio/wav"
		}
		if n++; n%3 == 0 {
			c.At, c.Voice, c.Characters = noon, "leah", 20
		}
	})
	var later []any
	for i, id := range ids {
		switch {
		case i%5 == 0, i > 2000 && i < 5000:
			later = append(later, clip.Deleted{Clip: id, Account: "big", At: noon})
		}
	}
	for some := range slices.Chunk(later, 500) {
		require.NoError(t, s.Projector.Wait(t.Context(), s.appendClips(some)))
	}

	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SampledFrom([]string{"timestamp", "text_length", "voice"}).Draw(rt, "sort_by")
		direction := rapid.SampledFrom([]string{"asc", "desc"}).Draw(rt, "sort_order")
		language := rapid.SampledFrom([]string{"", "", "en", "en-us", "de", "fr", "e"}).Draw(rt, "language")
		debug := rapid.Bool().Draw(rt, "debug")
		media := rapid.SampledFrom([]string{"", "", "audio/mpeg", "audio/wav", "audio/aac"}).Draw(rt, "media_type")
		bounds := drawBounds(rt, by)
		size := rapid.SampledFrom([]int{1, 7, 12, 333, 1000}).Draw(rt, "page_size")
		page := 1 + rapid.IntRange(0, 8000).Draw(rt, "after")/size

		var total int64
		var want []string
		sorted := strings.ReplaceAll(clipOrders[by].by, ",", " "+direction+",") + " " + direction
		row := s.Pool.QueryRow(t.Context(), fmt.Sprintf(plainPage, sorted), language, debug, size, (page-1)*size,
			bounds.voice, bounds.since, bounds.until, media)
		require.NoError(rt, row.Scan(&total, &want))
		shown := s.list("big",
			fmt.Sprintf("?sort_by=%s&sort_order=%s&language=%s&debug=%t&media_type=%s&page_size=%d&page=%d%s",
				by, direction, language, debug, media, size, page, bounds.query()))
		require.Equal(rt, total, shown.TotalClips)
		require.Equal(rt, (total+int64(size)-1)/int64(size), shown.TotalPages)
		got := make([]string, 0, len(want))
		for _, c := range shown.Clips {
			got = append(got, idOf(rt, c))
		}
		require.Equal(rt, want, got)
	})

	// and every page reads little: ranges are short, even among equal clips
	var longest int64
	require.NoError(t, s.Pool.QueryRow(t.Context(), `select max(clips)::bigint from (
		select sum(clips) as clips from read_v3.clips_by_voice group by voice, saved_at, clip_id) as ranges`).Scan(&longest))
	require.LessOrEqual(t, longest, int64(4000))
}

// stretch is a part of an order.
type stretch struct {
	voice        string
	since, until float64
}

// drawBounds draws the bounds that only the order by time can have.
func drawBounds(rt *rapid.T, by string) stretch {
	all := stretch{since: math.Inf(-1), until: math.Inf(1)}
	if by != "timestamp" || rapid.Bool().Draw(rt, "unbounded") {
		return all
	}
	at := rapid.Custom(func(rt *rapid.T) float64 {
		return float64(noon.Unix() + rapid.Int64Range(-100, 12_100).Draw(rt, "clip")*31)
	})
	all.voice = rapid.SampledFrom([]string{"", "leah", "ava", "zeke", "nobody"}).Draw(rt, "voice")
	if rapid.Bool().Draw(rt, "since") {
		all.since = at.Draw(rt, "from")
	}
	if rapid.Bool().Draw(rt, "until") {
		all.until = at.Draw(rt, "to")
	}
	return all
}

func (s stretch) query() string {
	query := "&voice=" + s.voice
	if !math.IsInf(s.since, 0) {
		query += fmt.Sprintf("&since=%.0f", s.since)
	}
	if !math.IsInf(s.until, 0) {
		query += fmt.Sprintf("&until=%.0f", s.until)
	}
	return query
}

// appendClips appends events to a stream of clips, and returns their position in the log.
func (s *world) appendClips(events []any) eventlog.Position {
	s.t.Helper()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: noon}
	proposed, err := s.Registry.Encode(uuid.New(), 0, meta, events...)
	require.NoError(s.t, err)
	appended, err := s.Log.Append(s.t.Context(), clip.Stream(uuid.NewString()), eventlog.NoStream, proposed)
	require.NoError(s.t, err)
	return appended.Position
}
