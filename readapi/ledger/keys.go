package ledger

import (
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type keyUsageRequest struct {
	Days int `query:"days" default:"30" ge:"1" le:"366" doc:"The number of days, including the current one." example:"30"`
}

type keyUsageItem struct {
	APIKey     string `json:"api_key" doc:"The key, masked."`
	Characters int64  `json:"chars_used" ge:"0" doc:"Characters spoken through the key on these days."`
	LastDay    string `json:"last_day" format:"date" doc:"The last of these days with a use, in UTC."`
}

type keySum struct {
	Key        string
	Characters int64
	LastDay    time.Time
}

// keysQuery sums up the characters by key of an account ($1) from a day on ($2).
var keysQuery = readapi.Rows[keySum]{
	SQL: "select api_key, sum(characters)::bigint, max(day) from " + readmodel.KeyUsageView.SQL() +
		" where account_id = $1 and day >= $2 group by api_key order by 2 desc, 1 limit 100",
	Doing: "reading the usage of keys",
}

func (a *API) keys(call *web.Call, request keyUsageRequest) (web.Reply, error) {
	rows, err := keysQuery.Read(call, a.Models, call.Principal.Account, firstOf(request.Days, a.Now()))
	if err != nil {
		return web.Reply{}, err
	}
	items := make([]keyUsageItem, len(rows))
	for i, r := range rows {
		items[i] = keyUsageItem{r.Key, r.Characters, r.LastDay.Format(time.DateOnly)}
	}
	return web.JSON(items), nil
}
