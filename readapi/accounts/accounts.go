// Package accounts serves the routes that read accounts.
package accounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves accounts from their read models.
type API struct {
	Models        readapi.Models
	Keys          keyring.Opener
	SealedForName func(keyHash string) string // what the name of an API key is sealed for
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account", a.account, web.Reads(readmodel.AccountsView, readmodel.APIKeysView, readmodel.AccountSubscriptionsView, readmodel.UsagePeriodsView, readmodel.VoiceCountsView.View), web.Tag("Account"), web.Summary("Plan, usage and API keys of the account"),
			web.Description("The account of the credential. Usage is that of the current period."),
			web.Returns[accountResponse](), web.Refuses(404)),
	}
}

type accountResponse struct {
	Plan              planInfo     `json:"plan" doc:"The plan and what it permits."`
	Usage             usageInfo    `json:"usage" doc:"What was used in the current period."`
	APIKeys           []apiKeyInfo `json:"apikeys" nullable:"true" doc:"The API keys, in their masked form."`
	AcceptedTOS       bool         `json:"accepted_tos" nullable:"true" doc:"Whether the terms of service were accepted."`
	WantsEmail        *bool        `json:"wants_email" doc:"null before the owner has said it; see set_email_prefs"`
	SubState          *string      `json:"sub_state" doc:"The status of the subscription, such as active; null where there is none."`
	CancelAtPeriodEnd bool         `json:"cancel_at_period_end" nullable:"true" doc:"Whether the subscription ends with its period."`
}

type planInfo struct {
	Type                 string `json:"type" doc:"The plan: free, indie, pro, premium or enterprise."`
	CommercialUseAllowed bool   `json:"commercial_use_allowed" doc:"Whether the audio may be used commercially."`
	CharacterLimit       *int64 `json:"character_limit" ge:"0" doc:"Characters included in a period; null where they are unlimited."`
}

type usageInfo struct {
	Characters           int64  `json:"characters" ge:"0" default:"0" doc:"Characters spoken through API keys in the current period."`
	PlaygroundCharacters int64  `json:"playground_characters" ge:"0" default:"0" doc:"Characters spoken in browsers in the current period."`
	CreditCharacters     int64  `json:"credit_characters" ge:"0" default:"0" doc:"Granted characters that are left."`
	InstantVoices        int64  `json:"instant_voices" ge:"0" default:"0" nullable:"true" doc:"How many instant voices the account has."`
	ProfessionalVoices   int64  `json:"professional_voices" ge:"0" default:"0" nullable:"true" doc:"How many professional voices the account has."`
	PeriodEnd            *int64 `json:"period_end" doc:"When the current period ends, in Unix seconds."`
}

type apiKeyInfo struct {
	Masked    string  `json:"masked" doc:"The masked form of the key, by which it is renamed and revoked."`
	Name      *string `json:"name" doc:"The name of the key."`
	CreatedAt int64   `json:"created_at" nullable:"true" doc:"When the key was created, in Unix seconds."`
}

// accountQuery selects the account ($1), how many voices it has, its periods that matter now ($2), its keys and its
// subscriptions. They are joined, added up and sorted here, which is faster than in Postgres.
var accountQuery = `
select ` + readmodel.Columns[accountRow](readmodel.AccountsView, "a") + `,
       array(select row(` + readmodel.Columns[voicesRow](readmodel.VoiceCountsView.View, "v") + `)
             from ` + readmodel.VoiceCountsView.SQL() + ` v where v.account_id = a.account_id),
       array(select row(` + readmodel.Columns[periodRow](readmodel.UsagePeriodsView, "p") + `)
             from ` + readmodel.UsagePeriodsView.SQL() + ` p where p.account_id = a.account_id and (p.period_end > $2 or p.credit_left <> 0)),
       array(select row(` + readmodel.Columns[keyRow](readmodel.APIKeysView, "k") + `)
             from ` + readmodel.APIKeysView.SQL() + ` k where k.account_id = a.account_id),
       case when a.subscribed then array(select row(` + readmodel.Columns[subscriptionRow](readmodel.AccountSubscriptionsView, "s") + `)
             from ` + readmodel.AccountSubscriptionsView.SQL() + ` s where s.account_id = a.account_id) end
from ` + readmodel.AccountsView.SQL() + ` a where a.account_id = $1`

type accountRow struct {
	Plan           string     `col:"plan"`
	From           time.Time  `col:"entitled_from"`
	Until          *time.Time `col:"entitled_until"`
	Next           *string    `col:"next_plan"`
	Anchor         *time.Time `col:"anchor"`
	PeriodsFrom    time.Time  `col:"periods_from"`
	FreePeriodUsed *int64     `col:"free_period_characters"`
	AcceptedTOS    bool       `col:"accepted_tos"`
	WantsEmail     *bool      `col:"wants_email"`
}

// entitlement returns what the account is entitled to.
func (a accountRow) entitlement() plan.Entitlement {
	return readapi.Entitlement(a.Plan, a.From, a.Until, a.Next, a.Anchor)
}

type voicesRow struct {
	Instant      int64 `col:"instant"`
	Professional int64 `col:"professional"`
}

type subscriptionRow struct {
	Status            string    `col:"status"`
	CancelAtPeriodEnd bool      `col:"cancel_at_period_end"`
	CreatedAt         time.Time `col:"created_at"`
}

type keyRow struct {
	Hash       string    `col:"key_hash"`
	Masked     string    `col:"masked"`
	SealedName []byte    `col:"sealed_name"`
	CreatedAt  time.Time `col:"created_at"`
}

type periodRow struct {
	Start      time.Time `col:"period_start"`
	Characters int64     `col:"characters"`
	Playground int64     `col:"playground_characters"`
	CreditLeft int64     `col:"credit_left"`
}

func (a *API) account(call *web.Call, _ struct{}) (web.Reply, error) {
	response, err := a.readAccount(call, call.Principal.Account, time.Now(), func(q readapi.Query, row func(pgx.CollectableRow) error) error {
		return readapi.Read(call, a.Models, q, row)
	})
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response), nil
}

func (a *API) readAccount(ctx context.Context, id string, now time.Time, read func(readapi.Query, func(pgx.CollectableRow) error) error) (accountResponse, error) {
	var (
		account       accountRow
		voices        []voicesRow // none before the first one
		periods       []periodRow
		keys          []keyRow
		subscriptions []subscriptionRow
		found         bool
	)
	query := readapi.Query{SQL: accountQuery, Arguments: []any{id, now}, Doing: "reading an account"}
	err := read(query, func(row pgx.CollectableRow) error {
		found = true
		return row.Scan(&account.Plan, &account.From, &account.Until, &account.Next, &account.Anchor, &account.PeriodsFrom, &account.FreePeriodUsed,
			&account.AcceptedTOS, &account.WantsEmail, &voices, &periods, &keys, &subscriptions)
	})
	if err != nil {
		return accountResponse{}, err
	}
	if !found {
		return accountResponse{}, domain.Refuse(domain.NotFound, "The account does not exist")
	}
	period := account.entitlement().At(now)
	terms, err := plan.Lookup(period.Plan)
	if err != nil {
		return accountResponse{}, fmt.Errorf("reading an account: %w", err)
	}
	shown, err := a.shownKeys(ctx, id, keys)
	if err != nil {
		return accountResponse{}, err
	}
	r := accountResponse{
		Plan:        planInfo{Type: string(terms.Type), CommercialUseAllowed: terms.CommercialUse},
		Usage:       usageOf(periods, account, period),
		APIKeys:     shown,
		AcceptedTOS: account.AcceptedTOS, WantsEmail: account.WantsEmail,
	}
	for _, v := range voices {
		r.Usage.InstantVoices, r.Usage.ProfessionalVoices = v.Instant, v.Professional
	}
	if !terms.Unlimited {
		r.Plan.CharacterLimit = &terms.Characters
	}
	if s, found := current(subscriptions); found {
		r.SubState, r.CancelAtPeriodEnd = &s.Status, s.CancelAtPeriodEnd
	}
	return r, nil
}

// current returns the newest subscription that runs, or the newest one if none does.
func current(subscriptions []subscriptionRow) (current subscriptionRow, found bool) {
	rank := func(s subscriptionRow) int {
		switch s.Status {
		case "trialing", "active", "past_due":
			return 2
		case "incomplete":
			return 1
		}
		return 0
	}
	if len(subscriptions) == 0 {
		return subscriptionRow{}, false
	}
	return slices.MaxFunc(subscriptions, func(a, b subscriptionRow) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt))
	}), true
}

// usageOf returns what was used in the current period, which has no row before its first use: until then it shows what
// a closed account of the same person has used of it.
//
// Credit is what is left of it, because that is what its owner can still use; the sum of all grants would not show when
// it is spent. It is counted over all periods, so that it does not seem lost between the end of a period and the moment
// when it is carried into the next one.
func usageOf(periods []periodRow, account accountRow, current plan.Period) usageInfo {
	var u usageInfo
	if account.FreePeriodUsed != nil && current.Start.Equal(account.PeriodsFrom) {
		u.Characters = *account.FreePeriodUsed
	}
	for _, p := range periods {
		u.CreditCharacters += p.CreditLeft
		if p.Start.Equal(current.Start) {
			u.Characters, u.PlaygroundCharacters = p.Characters, p.Playground
		}
	}
	seconds := current.End.Unix()
	u.PeriodEnd = &seconds
	return u
}

// shownKeys returns the keys in the order of their creation.
func (a *API) shownKeys(ctx context.Context, account string, keys []keyRow) ([]apiKeyInfo, error) {
	slices.SortFunc(keys, func(a, b keyRow) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Masked, b.Masked))
	})
	shown := make([]apiKeyInfo, len(keys))
	for i, k := range keys {
		name, err := a.nameOf(ctx, account, k)
		if err != nil {
			return nil, err
		}
		shown[i] = apiKeyInfo{Masked: k.Masked, Name: name, CreatedAt: k.CreatedAt.Unix()}
	}
	return shown, nil
}

// nameOf returns the name of a key, nil for none and for one that cannot be opened any more.
func (a *API) nameOf(ctx context.Context, account string, k keyRow) (*string, error) {
	if k.SealedName == nil {
		return nil, nil
	}
	name, err := a.Keys.Open(ctx, account, k.SealedName, a.SealedForName(k.Hash))
	switch {
	case keyring.Gone(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("opening the name of an API key: %w", err)
	}
	return new(string(name)), nil
}
