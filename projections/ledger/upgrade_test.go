package ledger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/feed"
	"github.com/recital-tts/recital/internal/feed/feedtest"
	"github.com/recital-tts/recital/internal/feed/table"
	projection "github.com/recital-tts/recital/projections/ledger"
)

// formerUsage is the read model of usage as the releases have it that know no credit, as far as periods go.
func formerUsage() feed.Projection {
	periods := table.New("periods",
		table.Column{Name: "account_id", Type: table.Text, Key: true},
		table.Column{Name: "period_start", Type: table.Timestamptz, Key: true},
		table.Column{Name: "characters", Type: table.Bigint},
	)
	return feed.Projection{
		Name:    "usage",
		Version: 1,
		Tables:  []*table.Table{periods},
		Views:   []feed.View{{Name: "usage_periods", Select: `select account_id, period_start, characters from periods`}},
		Handle: func(event eventlog.Decoded, rows *table.Rows) error {
			switch e := event.Event.(type) {
			case ledger.PeriodOpened:
				rows.Put(periods, e.Account, e.Start, 0)
			case ledger.Settled:
				rows.Add(periods, table.Key{e.Account, e.Start}, "characters", e.Characters)
			}
			return nil
		},
	}
}

func TestAnUpgradeFromAReleaseWithoutCredit(t *testing.T) {
	// given rows of a former release, which goes on
	w := worldOf(t, formerUsage())
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
