package ledger

import (
	"slices"
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// shownDays is the number of days in the history, including the current one.
const shownDays = 366

type dailyUsageHistoryItem struct {
	APICharsUsed        int64  `json:"api_chars_used" ge:"0" doc:"Characters spoken through API keys on this day."`
	PlaygroundCharsUsed int64  `json:"playground_chars_used" ge:"0" doc:"Characters spoken in browsers on this day."`
	Day                 string `json:"day" format:"date" doc:"The day in UTC."`
}

// daysQuery selects the days of an account ($1) from a day on ($2).
var daysQuery = readapi.From(readmodel.DailyUsageView,
	`where account_id = $1 and day >= $2`, "reading the usage of days")

func (a *API) days(call *web.Call, _ struct{}) (web.Reply, error) {
	rows, err := daysQuery.Read(call, a.Models, call.Principal.Account, firstOf(shownDays, a.Now()))
	if err != nil {
		return web.Reply{}, err
	}
	slices.SortFunc(rows, func(a, b readmodel.DailyUsageRow) int { return a.Day.Compare(b.Day) })
	items := make([]dailyUsageHistoryItem, len(rows))
	for i, r := range rows {
		items[i] = dailyUsageHistoryItem{r.API, r.Playground, r.Day.Format(time.DateOnly)}
	}
	return web.JSON(items), nil
}

// firstOf returns the first of the last days, at midnight.
func firstOf(days int, now time.Time) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
}
