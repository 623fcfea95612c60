package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

type spendingCapResponse struct {
	Amount    *int64  `json:"amount" ge:"0" doc:"The cap, in minor units of the currency; null if there is none."`
	Currency  *string `json:"currency" doc:"The currency of the cap, in the three letters of ISO 4217, in lower case."`
	Spent     *int64  `json:"spent" ge:"0" doc:"The cost of the characters past the plan in this period so far, in minor units."`
	PeriodEnd *int64  `json:"period_end" doc:"The end of the period of spent, in Unix seconds; null before its first use."`
}

// spending is the newest period of an account that follows a spending cap.
type spending struct {
	readmodel.SpendingCapRow
	Periods []readmodel.UsagePeriodRow
}

var spendingQuery = readapi.Rows[spending]{Doing: "reading a spending cap", SQL: `
	select ` + readmodel.SpendingCapsView.Selection("c") + `,
		` + readmodel.UsagePeriodsView.Array("p", `where p.account_id = c.account_id and p.period_start = c.period_start`) + `
	from ` + readmodel.SpendingCapsView.SQL() + ` c where c.account_id = $1 order by c.period_start desc limit 1`}

func (a *API) spendingCap(call *web.Call, _ struct{}) (web.Reply, error) {
	rows, err := spendingQuery.Read(call, a.Models, call.Principal.Account)
	if err != nil {
		return web.Reply{}, err
	}
	if len(rows) == 0 {
		return web.JSON(spendingCapResponse{}), nil
	}
	return web.JSON(rows[0].shown(a.Now())), nil
}

// shown returns the cap at a time. Spending in a period that is over no longer counts.
func (s spending) shown(now time.Time) spendingCapResponse {
	if s.Amount == nil {
		return spendingCapResponse{}
	}
	response := spendingCapResponse{Amount: s.Amount, Currency: &s.Currency, Spent: new(int64(0))}
	for _, period := range s.Periods {
		if now.Before(period.End) {
			response.Spent, response.PeriodEnd = new(s.spentIn(period)), new(period.End.Unix())
		}
	}
	return response
}

// spentIn is ledger.State.Spent over the rows.
func (s spending) spentIn(period readmodel.UsagePeriodRow) int64 {
	if period.Limit == nil {
		return period.Billed
	}
	characters, playground := period.Counted()
	rate := plan.Rate{Unit: s.Unit, Millis: s.Millis}
	_, amount := rate.Cost(characters + playground - *period.Limit - period.CreditGranted)
	return amount + period.Billed
}
