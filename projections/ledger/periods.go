package ledger

import (
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

type periodRow struct {
	Account              string    `col:"account_id,key"`
	Start                time.Time `col:"period_start,key"`
	End                  time.Time `col:"period_end"`
	Plan                 string    `col:"plan"`
	Limit                *int64    `col:"character_limit"`
	Characters           int64     `col:"characters"`
	PlaygroundCharacters int64     `col:"playground_characters"`
	CreditGranted        int64     `col:"credit_granted"`
	CreditCarried        int64     `col:"credit_carried"` // into a later period
}

// periods is the table of periods, with the columns that events add to.
type periods struct {
	table.Typed[periodRow]
	characters, playground, creditGranted, creditCarried table.Number[periodRow]

	plan  table.Field[periodRow, string]
	limit table.Field[periodRow, *int64]
	end   table.Field[periodRow, time.Time]
}

func newPeriods() periods {
	t := table.Of[periodRow]("periods")
	return periods{
		Typed:         t,
		characters:    table.NumberOf(t, func(r *periodRow) *int64 { return &r.Characters }),
		playground:    table.NumberOf(t, func(r *periodRow) *int64 { return &r.PlaygroundCharacters }),
		creditGranted: table.NumberOf(t, func(r *periodRow) *int64 { return &r.CreditGranted }),
		creditCarried: table.NumberOf(t, func(r *periodRow) *int64 { return &r.CreditCarried }),
		plan:          table.FieldOf(t, func(r *periodRow) *string { return &r.Plan }),
		limit:         table.FieldOf(t, func(r *periodRow) **int64 { return &r.Limit }),
		end:           table.FieldOf(t, func(r *periodRow) *time.Time { return &r.End }),
	}
}
