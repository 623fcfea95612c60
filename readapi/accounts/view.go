package accounts

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// accountView is an account with its rows in other views.
type accountView struct {
	readmodel.AccountRow
	Periods       []readmodel.UsagePeriodRow
	Keys          []readmodel.APIKeyRow
	Subscriptions []readmodel.AccountSubscriptionRow
}

// accountLine is an account with one of its relevant periods and one of its keys. Missing parts are zero.
type accountLine struct {
	readmodel.AccountRow
	PeriodStart                               zeronull.Timestamptz
	Characters, Playground, Overage, Credited zeronull.Int8
	KeyHash, Masked                           zeronull.Text
	SealedName                                []byte
	KeyCreated                                zeronull.Timestamptz
	Subscriptions                             []readmodel.AccountSubscriptionRow
}

// accountQuery selects the account ($1), its periods that are relevant at a time ($2), its keys and its subscriptions.
// Nearly all accounts have one relevant period. For a period and a key, plain columns allocate half as much as arrays
// of rows.
var accountQuery = readapi.Rows[accountLine]{
	Doing:  "reading an account",
	Models: []readmodel.Model{readmodel.Account, readmodel.Usage},
	SQL: `select ` + readmodel.AccountsView.Selection("a") + `,
		p.period_start, p.characters, p.playground_characters, p.overage, p.credit_left,
		k.key_hash, k.masked, k.sealed_name, k.created_at,
		case when a.subscribed
			then ` + readmodel.AccountSubscriptionsView.Array("s", `where s.account_id = a.account_id`) + ` end
	from ` + readmodel.AccountsView.SQL() + ` a
	left join ` + readmodel.UsagePeriodsView.SQL() + ` p on p.account_id = a.account_id
		and (p.period_end > $2 or p.credit_left <> 0)
	left join ` + readmodel.APIKeysView.SQL() + ` k on k.account_id = a.account_id
	where a.account_id = $1`,
}

// viewOf combines the lines of one account.
func viewOf(lines []accountLine) accountView {
	view := accountView{AccountRow: lines[0].AccountRow, Subscriptions: lines[0].Subscriptions}
	for _, line := range lines {
		view.Periods = with(view.Periods, line.period(), func(p readmodel.UsagePeriodRow) time.Time { return p.Start })
		view.Keys = with(view.Keys, line.key(), func(k readmodel.APIKeyRow) string { return k.Hash })
	}
	return view
}

// with adds a row unless it is empty or already present.
func with[R any, K comparable](rows []R, row R, key func(R) K) []R {
	var none K
	its := key(row)
	if its == none || slices.ContainsFunc(rows, func(r R) bool { return key(r) == its }) {
		return rows
	}
	return append(rows, row)
}

func (l accountLine) period() readmodel.UsagePeriodRow {
	return readmodel.UsagePeriodRow{
		Account: l.Account, Start: time.Time(l.PeriodStart), Characters: int64(l.Characters),
		Playground: int64(l.Playground), Overage: int64(l.Overage), CreditLeft: int64(l.Credited),
	}
}

func (l accountLine) key() readmodel.APIKeyRow {
	return readmodel.APIKeyRow{
		Account: l.Account, Hash: string(l.KeyHash), Masked: string(l.Masked), SealedName: l.SealedName,
		CreatedAt: time.Time(l.KeyCreated),
	}
}
