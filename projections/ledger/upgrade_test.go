package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
	projection "github.com/recital-tts/recital/projections/ledger"
)

// formerPeriodRow is a period without credit.
type formerPeriodRow struct {
	Account    string    `col:"account_id,key"`
	Start      time.Time `col:"period_start,key"`
	Characters int64     `col:"characters"`
}

// formerUsage is the read model of usage as the releases have it that know no credit, as far as periods go.
func formerUsage() feed.Projection {
	model := readmodel.Model{Name: "usage", Version: 1}
	view := readmodel.View{Model: model, Name: "usage_periods", Columns: []readmodel.Column{
		{Name: "account_id", Type: readmodel.Text},
		{Name: "period_start", Type: readmodel.Timestamptz},
		{Name: "characters", Type: readmodel.Bigint},
	}}
	periods := table.Of[formerPeriodRow]("periods")
	characters := table.NumberOf(periods, func(r *formerPeriodRow) *int64 { return &r.Characters })
	return feed.Projection{
		Model:   model,
		Tables:  []*table.Table{periods.Table},
		Views:   []feed.View{{View: view, Select: `select account_id, period_start, characters from periods`}},
		Streams: eventlog.Streams{ledger.StreamPrefix},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case ledger.PeriodOpened:
				periods.Put(rows, formerPeriodRow{Account: e.Account, Start: e.Start})
			case ledger.Settled:
				characters.Add(rows, formerPeriodRow{Account: e.Account, Start: e.Start}, e.Characters)
			}
			return nil
		},
	}
}

func TestAnUpgradeFromAReleaseWithoutCredit(t *testing.T) {
	// given rows of a former release, which goes on
	w := feedtest.New(t, feedtest.Registry(t, suite.Events), formerUsage())
	former := w.Projector
	var h history
	h.do(openPeriod("u3", plan.Free, now))
	h.do(ledger.Reserve{Reservation: "r1", Characters: 100, At: now, ExpiresAt: now})
	h.do(ledger.Settle{Reservation: "r1", Characters: 100, At: now})
	revision := w.Append(t, "usage-u3-1", eventlog.NoStream, h.take()...)

	// when this release starts on the same data, then it has all rows without a hand
	w.Project(t, projection.ReadModels()...)
	limit := int64(15_000)
	row := periodRow{"u3", now, now.AddDate(0, 1, 0), "free", &limit, 100, 0, 0, 0, 0}
	require.Equal(t, []periodRow{row}, feedtest.Rows[periodRow](t, w, periodsOf, "u3"))

	// and what comes is in the rows of both
	h.do(ledger.Grant{Grant: "g", Characters: 500, At: now})
	h.do(ledger.Reserve{Reservation: "r2", Characters: 50, At: now, ExpiresAt: now})
	h.do(ledger.Settle{Reservation: "r2", Characters: 50, At: now})
	w.Append(t, "usage-u3-1", revision, h.take()...)
	row.Characters, row.Granted, row.CreditLeft = 150, 500, 500
	require.Equal(t, []periodRow{row}, feedtest.Rows[periodRow](t, w, periodsOf, "u3"))
	head, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.NoError(t, former.Wait(t.Context(), head))
	var characters int64
	require.NoError(t, w.Pool.QueryRow(t.Context(), "select characters from read_v1.usage_periods where account_id = 'u3'").Scan(&characters))
	require.EqualValues(t, 150, characters)
}
