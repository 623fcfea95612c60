// Package accounts serves the routes that read accounts.
package accounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves accounts from their read models.
type API struct {
	Models readapi.Models
	Now    func() time.Time // selects the plan and the period
	Keys   keyring.Opener
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/v1/account", a.account, web.Tag("Account"), web.Summary("Plan, usage and API keys of the account"),
			web.Reads(readmodel.AccountsView.View, readmodel.APIKeysView.View, readmodel.AccountSubscriptionsView.View,
				readmodel.UsagePeriodsView.View),
			web.Description("The account of the credential. Usage is that of the current period."),
			web.Returns[accountResponse](), web.Refuses(404)),
	}
}

type accountResponse struct {
	Plan              planInfo     `json:"plan" doc:"The plan and what it permits."`
	Usage             usageInfo    `json:"usage" doc:"The usage of the current period."`
	APIKeys           []apiKeyInfo `json:"apikeys" nullable:"true" doc:"The API keys, in their masked form."`
	AcceptedTOS       bool         `json:"accepted_tos" nullable:"true" doc:"Whether the terms of service were accepted."`
	WantsEmail        *bool        `json:"wants_email" doc:"null before the owner's choice; see set_email_prefs"`
	SubState          *string      `json:"sub_state" doc:"The status of the subscription, such as active; null if there is none."`
	CancelAtPeriodEnd bool         `json:"cancel_at_period_end" nullable:"true" doc:"Whether the subscription ends with its period."`
}

type planInfo struct {
	Type                 string `json:"type" doc:"The plan: free, indie, pro, premium or enterprise."`
	CommercialUseAllowed bool   `json:"commercial_use_allowed" doc:"Whether the audio may be used commercially."`
	CharacterLimit       *int64 `json:"character_limit" ge:"0" doc:"Characters included in a period; null if unlimited."`
}

type usageInfo struct {
	Characters           int64  `json:"characters" ge:"0" default:"0" doc:"Characters spoken through API keys in the current period, without those billed before a change of plan."`
	PlaygroundCharacters int64  `json:"playground_characters" ge:"0" default:"0" doc:"Characters spoken in browsers in the current period."`
	CreditCharacters     int64  `json:"credit_characters" ge:"0" default:"0" doc:"Remaining granted characters."`
	InstantVoices        int64  `json:"instant_voices" ge:"0" default:"0" nullable:"true" doc:"The number of instant voices."`
	ProfessionalVoices   int64  `json:"professional_voices" ge:"0" default:"0" nullable:"true" doc:"The number of professional voices."`
	PeriodEnd            *int64 `json:"period_end" doc:"The end of the current period, in Unix seconds."`
}

type apiKeyInfo struct {
	Masked    string  `json:"masked" doc:"The masked form of the key, by which it is renamed and revoked."`
	Name      *string `json:"name" doc:"The name of the key."`
	CreatedAt int64   `json:"created_at" nullable:"true" doc:"When the key was created, in Unix seconds."`
}

var errNoAccount = domain.Refuse(domain.NotFound, "The account does not exist")

func (a *API) account(call *web.Call, _ struct{}) (web.Reply, error) {
	now := a.Now()
	lines, err := accountQuery.Read(call, a.Models, call.Principal.Account, now)
	if err != nil {
		return web.Reply{}, err
	}
	if len(lines) == 0 {
		return web.Reply{}, errNoAccount
	}
	response, err := a.show(call, viewOf(lines), now)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(response), nil
}

// show returns the account at a time.
func (a *API) show(ctx context.Context, found accountView, now time.Time) (accountResponse, error) {
	period := found.Entitlement().At(now)
	terms, err := plan.Lookup(period.Plan)
	if err != nil {
		return accountResponse{}, fmt.Errorf("reading an account: %w", err)
	}
	keys, err := a.shownKeys(ctx, found.Keys)
	if err != nil {
		return accountResponse{}, err
	}
	r := accountResponse{
		Plan:        planInfo{Type: string(terms.Type), CommercialUseAllowed: terms.CommercialUse},
		Usage:       found.usage(period),
		APIKeys:     keys,
		AcceptedTOS: found.AcceptedTOS, WantsEmail: found.WantsEmail,
	}
	if !terms.Unlimited {
		r.Plan.CharacterLimit = &terms.Characters
	}
	if s, exists := current(found.Subscriptions); exists {
		r.SubState, r.CancelAtPeriodEnd = &s.Status, s.CancelAtPeriodEnd
	}
	return r, nil
}

// current returns the newest running subscription, or the newest one if none runs.
func current(subscriptions []readmodel.AccountSubscriptionRow) (current readmodel.AccountSubscriptionRow, found bool) {
	rank := func(s readmodel.AccountSubscriptionRow) int {
		switch s.Status {
		case "trialing", "active", "past_due":
			return 2
		case "incomplete":
			return 1
		}
		return 0
	}
	if len(subscriptions) == 0 {
		return current, false
	}
	return slices.MaxFunc(subscriptions, func(a, b readmodel.AccountSubscriptionRow) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt))
	}), true
}

// usage returns the usage of the current period, which has no row before its first use: until then it is the use that a
// closed account of the same person brought along.
//
// Credit is the remaining credit, because the owner can still use that; the sum of all grants would not show when it is
// spent. It is counted over all periods, so that it does not seem lost between the end of a period and its transfer to
// the next one.
func (v accountView) usage(current plan.Period) usageInfo {
	u := usageInfo{
		PeriodEnd: new(current.End.Unix()), InstantVoices: v.InstantVoices, ProfessionalVoices: v.ProfessionalVoices,
	}
	if v.FreePeriodUsed != nil && current.Start.Equal(v.PeriodsFrom) {
		u.Characters = *v.FreePeriodUsed
	}
	for _, p := range v.Periods {
		u.CreditCharacters += p.CreditLeft
		if p.Start.Equal(current.Start) {
			u.Characters, u.PlaygroundCharacters = p.Counted()
		}
	}
	return u
}

// shownKeys returns the keys in the order of their creation.
func (a *API) shownKeys(ctx context.Context, keys []readmodel.APIKeyRow) ([]apiKeyInfo, error) {
	slices.SortFunc(keys, func(a, b readmodel.APIKeyRow) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Masked, b.Masked))
	})
	shown := make([]apiKeyInfo, len(keys))
	for i, k := range keys {
		name, err := keyring.OpenText(ctx, a.Keys, k.Account, k.SealedName, k.NameUse())
		if err != nil {
			return nil, err
		}
		shown[i] = apiKeyInfo{Masked: k.Masked, Name: name, CreatedAt: k.CreatedAt.Unix()}
	}
	return shown, nil
}
