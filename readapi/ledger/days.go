package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// shownDays is how many days the history has, with the current one.
const shownDays = 366

type dailyUsageHistoryItem struct {
	APICharsUsed        int64  `json:"api_chars_used" ge:"0" doc:"Characters spoken through API keys on this day."`
	PlaygroundCharsUsed int64  `json:"playground_chars_used" ge:"0" doc:"Characters spoken in browsers on this day."`
	Day                 string `json:"day" format:"date" doc:"The day in UTC."`
}

// daysQuery selects the days of an account ($1) from a day on ($2).
var daysQuery = `select ` + readmodel.Columns[dayRow](readmodel.DailyUsageView, "") + ` from ` + readmodel.DailyUsageView.SQL() + `
where account_id = $1 and day >= $2`

type dayRow struct {
	Day        time.Time `col:"day"`
	API        int64     `col:"api_characters"`
	Playground int64     `col:"playground_characters"`
}

func (a *API) days(call *web.Call, _ struct{}) (web.Reply, error) {
	items := []dailyUsageHistoryItem{}
	query := readapi.Query{SQL: daysQuery, Arguments: []any{call.Principal.Account, firstDay(time.Now())}, Doing: "reading the usage of days"}
	err := readapi.Read(call, a.Models, query, func(row pgx.CollectableRow) error {
		var r dayRow
		err := row.Scan(&r.Day, &r.API, &r.Playground)
		items = append(items, dailyUsageHistoryItem{r.API, r.Playground, r.Day.Format(time.DateOnly)})
		return err
	})
	if err != nil {
		return web.Reply{}, err
	}
	slices.SortFunc(items, func(a, b dailyUsageHistoryItem) int { return cmp.Compare(a.Day, b.Day) })
	return web.JSON(items), nil
}

// firstDay returns the first day of the history, at midnight.
func firstDay(now time.Time) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-shownDays)
}
