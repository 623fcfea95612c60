package readapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/web"
)

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

// accountQuery finds the account ($1) and its period of now ($2), which is not there before its first use.
//
// Credit is what is left of it, because that is what its owner can still have spoken, and what tells when it is spent;
// what was granted altogether would tell neither. It is counted over all periods, so that it does not seem lost between
// a period's end and its passing on to the next.
const accountQuery = `
select a.plan, a.opened_at, p.period_end,
       coalesce(p.characters, 0),
       coalesce(p.playground_characters, 0),
       (select coalesce(sum(c.credit_left), 0)::bigint from read_v2.usage_periods c where c.account_id = a.account_id),
       array(select row(k.masked, k.name, k.created_at)
             from read_v1.api_keys k where k.account_id = a.account_id order by k.created_at, k.masked)
from read_v1.accounts a
left join read_v2.usage_periods p
       on p.account_id = a.account_id and p.period_start <= $2 and p.period_end > $2
where a.account_id = $1`

type keyRow struct {
	Masked    string
	Name      *string
	CreatedAt time.Time
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
		planType  string
		opened    time.Time
		periodEnd *time.Time
		keys      []keyRow
		r         accountResponse
	)
	err := a.Pool.QueryRow(ctx, accountQuery, id, now).Scan(&planType, &opened, &periodEnd,
		&r.Usage.Characters, &r.Usage.PlaygroundCharacters, &r.Usage.CreditCharacters, &keys)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, domain.Refuse(domain.NotFound, "The account does not exist")
	}
	if err != nil {
		return r, failed(ctx, "reading an account", err)
	}
	terms, err := plan.Lookup(plan.Type(planType))
	if err != nil {
		return r, fmt.Errorf("reading an account: %w", err)
	}
	r.Plan = planInfo{Type: planType, CommercialUseAllowed: terms.CommercialUse}
	if !terms.Unlimited {
		r.Plan.CharacterLimit = &terms.Characters
	}
	if periodEnd == nil {
		_, end := plan.MonthlyPeriod(opened, now)
		periodEnd = &end
	}
	end := periodEnd.Unix()
	r.Usage.PeriodEnd = &end
	r.APIKeys = make([]apiKeyInfo, len(keys))
	for i, k := range keys {
		r.APIKeys[i] = apiKeyInfo{Masked: k.Masked, Name: k.Name, CreatedAt: k.CreatedAt.Unix()}
	}
	return r, nil
}
