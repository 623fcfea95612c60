package clips

import (
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/readapi"
)

// maxPageSize bounds the memory of a page; a larger page_size is cut to it, which the reply shows.
const maxPageSize = 1000

type clipsRequest struct {
	Page      int     `query:"page" default:"1" gt:"0"`
	PageSize  int     `query:"page_size" default:"12" gt:"0"`
	Language  *string `query:"language" maxlen:"35" doc:"only clips in this language, or this region of it"`
	SortBy    string  `query:"sort_by" default:"timestamp" literal:"timestamp,text_length,voice"`
	SortOrder string  `query:"sort_order" default:"desc" literal:"asc,desc"`
	Debug     bool    `query:"debug" default:"false" doc:"only clips that a request saved by debug"`
}

type clipsResponse struct {
	Clips      []Clip `json:"clips"`
	Page       int    `json:"page" gt:"0"`
	PageSize   int    `json:"page_size" gt:"0"`
	TotalClips int64  `json:"total_clips" ge:"0"`
	TotalPages int64  `json:"total_pages" ge:"0"`
}

// clipsFilter selects the clips of an account ($1), in a language with all of its regions or in one region ($2, "" for
// any), and only those of debug requests if $3 is true.
var clipsFilter = fromClips + `
where account_id = $1 and ($2 = '' or language = $2 or starts_with(language, $2 || '-')) and (debug or not $3)`

// clipOrders are the orders, each of them total: the same clips never come on two pages, and none is left out.
var clipOrders = map[[2]string]string{
	{"timestamp", "asc"}:    `saved_at, clip_id`,
	{"timestamp", "desc"}:   `saved_at desc, clip_id desc`,
	{"text_length", "asc"}:  `characters, saved_at, clip_id`,
	{"text_length", "desc"}: `characters desc, saved_at desc, clip_id desc`,
	{"voice", "asc"}:        `voice, saved_at, clip_id`,
	{"voice", "desc"}:       `voice desc, saved_at desc, clip_id desc`,
}

func (a *API) list(call *web.Call, in clipsRequest) (web.Reply, error) {
	in.PageSize = min(in.PageSize, maxPageSize)
	total, rows, err := a.readPage(call, in)
	if err != nil {
		return web.Reply{}, err
	}
	response := clipsResponse{
		Clips: make([]Clip, len(rows)), Page: in.Page, PageSize: in.PageSize, TotalClips: total,
		TotalPages: (total + int64(in.PageSize) - 1) / int64(in.PageSize),
	}
	for i, row := range rows {
		if response.Clips[i], err = a.show(call, row); err != nil {
			return web.Reply{}, err
		}
	}
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) readPage(call *web.Call, in clipsRequest) (total int64, rows []clipRow, err error) {
	account, language := call.Principal.Account, languageFilter(in.Language)
	query := `select (select count(*)` + clipsFilter + `), array(select row(` + clipColumns + `)` + clipsFilter +
		` order by ` + clipOrders[[2]string{in.SortBy, in.SortOrder}] + ` limit $4 offset $5)`
	arguments := []any{account, language, in.Debug, in.PageSize, offset(in.Page, in.PageSize)}
	err = readapi.Read(call, a.Models, readapi.Query{SQL: query, Arguments: arguments, Doing: "reading clips"}, func(row pgx.CollectableRow) error {
		return row.Scan(&total, &rows)
	})
	return total, rows, err
}

func offset(page, size int) int64 {
	if int64(page-1) > math.MaxInt64/int64(size) {
		return math.MaxInt64
	}
	return int64(page-1) * int64(size)
}
