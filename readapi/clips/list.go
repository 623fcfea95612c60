package clips

import (
	"math"
	"strings"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// maxPageSize bounds the memory of a page; a larger page_size is reduced to it, as the reply shows.
const maxPageSize = 1000

type clipsRequest struct {
	Page      int    `query:"page" default:"1" gt:"0" doc:"The page, counted from 1." example:"1"`
	PageSize  int    `query:"page_size" default:"12" gt:"0" doc:"The number of clips on a page. More than 1000 are taken as 1000." example:"12"`
	Language  string `query:"language" doc:"only clips in this language or regional variant"`
	SortBy    string `query:"sort_by" default:"timestamp" literal:"timestamp,text_length,voice" doc:"The order of the clips: by time of creation, length of the text, or id of the voice." example:"timestamp"`
	SortOrder string `query:"sort_order" default:"desc" literal:"asc,desc" doc:"Ascending or descending." example:"desc"`
	Debug     bool   `query:"debug" default:"false" doc:"only clips that requests saved by debug"`
	MediaType string `query:"media_type" maxlen:"100" doc:"Only clips of this media type, such as audio/wav."`
	Voice     string `query:"voice" maxlen:"200" doc:"Only clips of the voice with this id. They are sorted by timestamp."`
	Since     *int64 `query:"since" ge:"0" le:"253402300799" doc:"Only clips from this time on, in Unix seconds. They are sorted by timestamp."`
	Until     *int64 `query:"until" ge:"0" le:"253402300799" doc:"Only clips from before this time, in Unix seconds. They are sorted by timestamp."`
}

// bounded reports whether the clips are a part of an order, rather than all of it.
func (r clipsRequest) bounded() bool { return r.Voice != "" || r.Since != nil || r.Until != nil }

// order returns the order of a query. The clips of a voice are adjacent in the order by voice, sorted by time.
func (r clipsRequest) order() string {
	if r.Voice != "" {
		return "voice"
	}
	return r.SortBy
}

// bounds returns the ends of the part, as further parameters of a bounded query.
func (r clipsRequest) bounds() []any {
	since, until := math.Inf(-1), math.Inf(1)
	if r.Since != nil {
		since = float64(*r.Since)
	}
	if r.Until != nil {
		until = float64(*r.Until)
	}
	if r.Voice != "" {
		return []any{since, until, r.Voice}
	}
	return []any{since, until}
}

type clipsResponse struct {
	Clips      []Clip `json:"clips" doc:"The clips of the page."`
	Page       int    `json:"page" gt:"0" doc:"The page, counted from 1."`
	PageSize   int    `json:"page_size" gt:"0" doc:"The number of clips on a page."`
	TotalClips int64  `json:"total_clips" ge:"0" doc:"The number of clips on all pages."`
	TotalPages int64  `json:"total_pages" ge:"0" doc:"The number of pages."`
}

// clipOrder is an order of clips by columns. It is total, so that each clip is on exactly one page.
type clipOrder struct {
	ranges readmodel.View
	by     string
	// begins and ends are conditions for rows before the bounds ($7 and $8 in Unix seconds, $9 a voice); "" if the order
	// has no bounds
	begins, ends string
}

var clipOrders = map[string]clipOrder{
	"timestamp": {readmodel.ClipsByTimeView.View, `saved_at, clip_id`,
		`saved_at < to_timestamp($7::float8)`, `saved_at < to_timestamp($8::float8)`},
	"text_length": {readmodel.ClipsByLengthView.View, `characters, saved_at, clip_id`, ``, ``},
	"voice": {readmodel.ClipsByVoiceView.View, `voice, saved_at, clip_id`,
		`(voice, saved_at) < ($9::text, to_timestamp($7::float8))`,
		`(voice, saved_at) < ($9::text, to_timestamp($8::float8))`},
}

// pageQuery is a query of pages.
type pageQuery struct {
	sortBy, sortOrder string
	filtered          bool // by language, debug or media type
	bounded           bool // by time or voice
}

// clipsPage is a page of clips.
type clipsPage struct {
	Total int64 // clips on all pages
	Clips []readmodel.ClipRow
}

var pageQueries = func() map[pageQuery]readapi.Rows[clipsPage] {
	queries := map[pageQuery]readapi.Rows[clipsPage]{}
	for sortBy, order := range clipOrders {
		for _, filtered := range []bool{false, true} {
			for _, bounded := range []bool{false, order.begins != ""} {
				queries[pageQuery{sortBy, "asc", filtered, bounded}] = order.page(filtered, bounded, false)
				queries[pageQuery{sortBy, "desc", filtered, bounded}] = order.page(filtered, bounded, true)
			}
		}
	}
	return queries
}()

var fromClips = ` from ` + readmodel.ClipsView.SQL()

// filter selects the clips of an account ($1), in a language with all of its regions or in one region ($2, "" for any),
// only those of debug requests if $3 is true, and of a media type ($6, "" for any).
const filter = ` where account_id = $1 and (debug or not $3::boolean) and ($6::text = '' or media_type = $6)
	and ($2::text = '' or language = $2 or starts_with(language, $2 || '-'))`

// page returns the query of a page of $4 clips after the first $5 clips within the bounds, and of the number of all
// clips within them. The counts of ranges tell in which range the page begins, and the number of its clips before the
// page; so the query reads only the range, which has at most 4,000 clips, and the page.
func (o clipOrder) page(filtered, bounded, descending bool) readapi.Rows[clipsPage] {
	after := `account_id = $1 and (` + o.by + `) >= (select ` + o.by + ` from start) order by ` + o.by
	ids := `select clip_id` + fromClips + ` where ` + after + `
		offset (select skip from start) limit (select size from page)`
	if filtered { // each language, debug and media type has an index of its clips in this order
		ids = `select clip_id from (` + o.facets() + ` cross join lateral (
				select ` + o.by + fromClips + ` where ` + inFacet + ` and ` + after + `
				limit (select skip + size from start, page)) as found) as found
			order by ` + o.by + ` offset (select skip from start) limit (select size from page)`
	}
	first, direction := `before`, ``
	if descending { // the same distance from the other end
		first, direction = `greatest(after - $4, 0)`, ` desc`
	}
	return readapi.Rows[clipsPage]{Doing: "reading clips", SQL: `
		with ranges as (select ` + o.by + `, sum(clips)::bigint as clips` + o.fromRanges() + ` group by ` + o.by + `),
		placed as (
			select ` + o.by + `, (sum(clips) over (order by ` + o.by + `) - clips)::bigint as before from ranges),
		bounds as (` + o.bounds(filtered, bounded) + `),
		counted as (select greatest(high - low, 0)::bigint as total from bounds),
		page as (
			select low + ` + first + ` as first, least($4, after) as size
			from (select least($5, total) as before, greatest(total - $5, 0) as after from counted) as clips, bounds),
		start as (
			select ` + o.by + `, (select first from page) - before as skip from placed
			where before <= (select first from page) order by before desc, ` + o.by + ` desc limit 1)
		select (select total from counted), ` + readmodel.ClipsView.Array("c", `where c.clip_id = any(array(`+ids+`))
			order by `+strings.ReplaceAll(o.by, ",", direction+",")+direction)}
}

const inFacet = `language = facets.language and debug = facets.debug and media_type = facets.media_type`

// facets returns the start of a query over the combinations of language, debug and media type.
func (o clipOrder) facets() string {
	return `select found.* from (select distinct language, debug, media_type` + o.fromRanges() + `) as facets`
}

// bounds returns a query of the number of clips before the first one within the bounds, and before the first one after
// them.
func (o clipOrder) bounds(filtered, bounded bool) string {
	if !bounded {
		return `select 0::bigint as low, coalesce(sum(clips), 0)::bigint as high from ranges`
	}
	return `select coalesce((` + o.before(o.begins, filtered) + `), 0) as low,
		coalesce((` + o.before(o.ends, filtered) + `), 0) as high`
}

// before returns a query of the number of clips that meet a condition, which holds for the clips up to a place in the
// order: all clips before the last range that has any, and some of this range.
func (o clipOrder) before(condition string, filtered bool) string {
	last := `(last.` + strings.ReplaceAll(o.by, ", ", ", last.") + `)`
	some := `account_id = $1 and (` + o.by + `) >= ` + last + ` and ` + condition
	within := `select count(*)` + fromClips + ` where ` + some
	if filtered {
		within = `select coalesce(sum(clips), 0) from (` + o.facets() + ` cross join lateral (
			select count(*) as clips` + fromClips + ` where ` + inFacet + ` and ` + some + `) as found) as counts`
	}
	return `select (before + (` + within + `))::bigint
		from (select * from placed where ` + condition + ` order by ` + o.by + ` desc limit 1) as last`
}

func (o clipOrder) fromRanges() string { return ` from ` + o.ranges.SQL() + filter }

func (a *API) list(call *web.Call, in clipsRequest) (web.Reply, error) {
	if in.bounded() && in.SortBy != "timestamp" {
		return web.Reply{}, call.Invalid("sort_by", "Input should be 'timestamp' with voice, since or until")
	}
	in.PageSize = min(in.PageSize, maxPageSize)
	language := languageFilter(in.Language)
	parameters := []any{
		call.Principal.Account, language, in.Debug, int64(in.PageSize), offset(in.Page, in.PageSize), in.MediaType,
	}
	if in.bounded() {
		parameters = append(parameters, in.bounds()...)
	}
	filtered := language != "" || in.Debug || in.MediaType != ""
	query := pageQueries[pageQuery{in.order(), in.SortOrder, filtered, in.bounded()}]
	page, err := query.One(call, a.Models, nil, parameters...)
	if err != nil {
		return web.Reply{}, err
	}
	response := clipsResponse{
		Clips: make([]Clip, len(page.Clips)), Page: in.Page, PageSize: in.PageSize, TotalClips: page.Total,
		TotalPages: (page.Total + int64(in.PageSize) - 1) / int64(in.PageSize),
	}
	for i, row := range page.Clips {
		if response.Clips[i], err = a.show(call, row); err != nil {
			return web.Reply{}, err
		}
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func offset(page, size int) int64 {
	if int64(page-1) > math.MaxInt64/int64(size) {
		return math.MaxInt64
	}
	return int64(page-1) * int64(size)
}
