// Package accounts serves the routes that read accounts.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves accounts from their read models.
type API struct {
	Pool *pgxpool.Pool
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account", a.account, web.ReadModels("account", "usage"), web.Tag("Account"), web.Summary("Plan, usage and API keys of the account"),
			web.Returns[accountResponse](), web.Refuses(404)),
	}
}

type accountResponse struct {
	Plan              planInfo     `json:"plan"`
	Usage             usageInfo    `json:"usage"`
	APIKeys           []apiKeyInfo `json:"apikeys" nullable:"true"`
	AcceptedTOS       bool         `json:"accepted_tos" nullable:"true"`
	SubState          *string      `json:"sub_state"`
	CancelAtPeriodEnd bool         `json:"cancel_at_period_end" nullable:"true"`
}

type planInfo struct {
	Type                 string `json:"type"`
	CommercialUseAllowed bool   `json:"commercial_use_allowed"`
	CharacterLimit       *int64 `json:"character_limit" ge:"0"`
}

type usageInfo struct {
	Characters           int64  `json:"characters" ge:"0" default:"0"`
	PlaygroundCharacters int64  `json:"playground_characters" ge:"0" default:"0"`
	CreditCharacters     int64  `json:"credit_characters" ge:"0" default:"0"`
	InstantVoices        int64  `json:"instant_voices" ge:"0" default:"0" nullable:"true"`
	ProfessionalVoices   int64  `json:"professional_voices" ge:"0" default:"0" nullable:"true"`
	PeriodEnd            *int64 `json:"period_end"` // Unix seconds
}

type apiKeyInfo struct {
	Masked    string  `json:"masked"`
	Name      *string `json:"name"`
	CreatedAt int64   `json:"created_at" nullable:"true"` // Unix seconds
}

// accountQuery finds the account ($1), its keys, and its periods that matter now ($2). What is to be made of them is made
// here: joins, sums and sorting take Postgres longer than the reading.
const accountQuery = `
select a.plan, a.opened_at,
       array(select row(p.period_start, p.period_end, p.characters, p.playground_characters, p.credit_left)
             from read_v2.usage_periods p where p.account_id = a.account_id and (p.period_end > $2 or p.credit_left <> 0)),
       array(select row(k.masked, k.name, k.created_at) from read_v1.api_keys k where k.account_id = a.account_id)
from read_v1.accounts a where a.account_id = $1`

type keyRow struct {
	Masked    string
	Name      *string
	CreatedAt time.Time
}

type periodRow struct {
	Start, End time.Time
	Characters int64
	Playground int64
	CreditLeft int64
}

func (a *API) account(call *web.Call, _ struct{}) (web.Reply, error) {
	response, err := a.readAccount(call, call.Principal.Account, time.Now())
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response), nil
}

func (a *API) readAccount(ctx context.Context, id string, now time.Time) (accountResponse, error) {
	var (
		planType string
		opened   time.Time
		periods  []periodRow
		keys     []keyRow
	)
	err := a.Pool.QueryRow(ctx, accountQuery, id, now).Scan(&planType, &opened, &periods, &keys)
	if errors.Is(err, pgx.ErrNoRows) {
		return accountResponse{}, domain.Refuse(domain.NotFound, "The account does not exist")
	}
	if err != nil {
		return accountResponse{}, readapi.QueryError(ctx, "reading an account", err)
	}
	terms, err := plan.Lookup(plan.Type(planType))
	if err != nil {
		return accountResponse{}, fmt.Errorf("reading an account: %w", err)
	}
	r := accountResponse{
		Plan:    planInfo{Type: planType, CommercialUseAllowed: terms.CommercialUse},
		Usage:   usageOf(periods, opened, now),
		APIKeys: shownKeys(keys),
	}
	if !terms.Unlimited {
		r.Plan.CharacterLimit = &terms.Characters
	}
	return r, nil
}

// usageOf is what was used in the period of now, which is not there before its first use.
//
// Credit is what is left of it, because that is what its owner can still have spoken, and what tells when it is spent;
// what was granted altogether would tell neither. It is counted over all periods, so that it does not seem lost between
// a period's end and its passing on to the next.
func usageOf(periods []periodRow, opened, now time.Time) usageInfo {
	var u usageInfo
	_, end := plan.MonthlyPeriod(opened, now)
	for _, p := range periods {
		u.CreditCharacters += p.CreditLeft
		if !p.Start.After(now) && p.End.After(now) {
			u.Characters, u.PlaygroundCharacters, end = p.Characters, p.Playground, p.End
		}
	}
	seconds := end.Unix()
	u.PeriodEnd = &seconds
	return u
}

// shownKeys has the oldest key first.
func shownKeys(keys []keyRow) []apiKeyInfo {
	slices.SortFunc(keys, func(a, b keyRow) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Masked, b.Masked))
	})
	shown := make([]apiKeyInfo, len(keys))
	for i, k := range keys {
		shown[i] = apiKeyInfo{Masked: k.Masked, Name: k.Name, CreatedAt: k.CreatedAt.Unix()}
	}
	return shown
}
