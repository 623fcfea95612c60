// Package audit serves auditors from the log itself.
package audit

import (
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/http/web"
)

// API shows accounts as they were.
type API struct {
	Audit *audit.Audit
	Now   func() time.Time
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/accounts/{account_id}", a.show, web.Role("operator", "auditor"), web.Tag("Auditors"),
			web.Summary("An account as it was at a time, folded from its streams"),
			web.Returns[accountAsOf](), web.Refuses(404)),
	}
}

type accountRequest struct {
	AccountID string       `path:"account_id" maxlen:"64"`
	AsOf      *web.Instant `query:"as_of" maxlen:"40" doc:"the time, as 2026-11-22T15:04:05Z; now where it is left out"`
}

type accountAsOf struct {
	AccountID      string            `json:"account_id"`
	AsOf           time.Time         `json:"as_of"`
	OpenedAt       time.Time         `json:"opened_at"`
	State          string            `json:"state"` // open; closed: it is being erased; erased
	Plan           string            `json:"plan"`
	EntitledUntil  *time.Time        `json:"entitled_until"` // null: it goes on
	Operator       bool              `json:"operator"`
	AcceptedTOS    bool              `json:"accepted_tos"`
	WantsEmail     *bool             `json:"wants_email"`
	APIKeys        []string          `json:"api_keys"` // in masked form; their names are the owner's words
	Subscription   *subscriptionAsOf `json:"subscription"`
	Usage          *usageAsOf        `json:"usage"` // null: nothing had been used in the period
	InstantVoices  int               `json:"instant_voices"`
	Professional   int               `json:"professional_voices"`
	SessionsBefore *time.Time        `json:"sessions_ended_before"` // all sessions opened until then were ended
	From           []foldedStream    `json:"folded_from"`
}

type subscriptionAsOf struct {
	ID          string     `json:"id"`
	Status      string     `json:"status"`
	Plan        string     `json:"plan"`
	Price       string     `json:"price"`
	PeriodStart time.Time  `json:"period_start"`
	PeriodEnd   time.Time  `json:"period_end"`
	CancelAt    *time.Time `json:"cancel_at"`
}

type usageAsOf struct {
	Plan        string    `json:"plan"`
	PeriodStart time.Time `json:"period_start"`
	PeriodEnd   time.Time `json:"period_end"`
	Limit       *int64    `json:"character_limit"`
	Characters  int64     `json:"characters"` // settled
	Reserved    int64     `json:"reserved"`
	Credit      int64     `json:"credit_left"`
}

type foldedStream struct {
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"` // of its last event until then
	At       time.Time `json:"at"`       // of that event
}

func (a *API) show(call *web.Call, in accountRequest) (web.Reply, error) {
	at := a.Now().UTC()
	if in.AsOf != nil {
		asked := time.Time(*in.AsOf)
		if asked.After(at) {
			return web.Reply{}, call.Invalid("as_of", "what will be is not known")
		}
		at = asked
	}
	found, err := a.Audit.Account(call, in.AccountID, at)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(responseOf(found, at)).WithHeader("Cache-Control", "no-store"), nil
}

// states are the phases of the closing of an account in words.
var states = map[account.Closing]string{
	account.NotClosed: "open", account.Ending: "closed", account.ErasedOnce: "erased", account.ErasedForAll: "erased",
}

func responseOf(found audit.Account, at time.Time) accountAsOf {
	running := found.Entitlement.Running(at)
	response := accountAsOf{
		AccountID: found.Account, AsOf: at, OpenedAt: found.OpenedAt, State: states[found.Closing],
		Plan: string(running.Plan), EntitledUntil: orNull(running.End),
		Operator: found.Operator, AcceptedTOS: found.TermsAccepted, WantsEmail: found.WantsEmail, APIKeys: []string{},
		InstantVoices: found.Instant, Professional: found.Professional, SessionsBefore: orNull(found.SessionsRevokedAt),
	}
	for _, key := range found.Keys {
		response.APIKeys = append(response.APIKeys, key.Masked)
	}
	if s := found.Subscription; s != nil {
		response.Subscription = &subscriptionAsOf{
			ID: s.Subscription, Status: s.Status, Plan: string(s.Plan), Price: s.Price,
			PeriodStart: s.PeriodStart, PeriodEnd: s.PeriodEnd, CancelAt: orNull(s.CancelAt),
		}
	}
	if used := found.Usage; used.Exists() {
		allowed := used.Allowance()
		response.Usage = &usageAsOf{
			Plan: string(allowed.Plan), PeriodStart: used.Terms.Start, PeriodEnd: used.Terms.End, Limit: allowed.Limit,
			Characters: allowed.Settled, Reserved: allowed.Reserved, Credit: allowed.Credit,
		}
	}
	for _, seen := range found.From {
		response.From = append(response.From, foldedStream{seen.Stream, int64(seen.Revision), seen.At})
	}
	return response
}

// orNull returns nil for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Erasures shows how far the erasure of closed accounts is.
type Erasures struct {
	Audit  *audit.Audit
	Stores audit.Stores
}

// AdminRoutes returns the rows for the admin route table.
func (a *Erasures) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/accounts/{account_id}/erasure", a.show, web.Role("operator", "auditor"), web.Tag("Auditors"),
			web.Summary("What was erased of an account, and what is left to do"),
			web.Returns[erasureReply](), web.Refuses(404)),
	}
}

type erasureRequest struct {
	Account string `path:"account_id" doc:"id of the account"`
}

type erasureReply struct {
	AccountID    string      `json:"account_id"`
	State        string      `json:"state"`            // open, ending, erased (once), complete
	Complete     bool        `json:"complete"`         // nothing is left, and nothing can be added
	ClosedAt     *string     `json:"closed_at"`        // null before that, as the next ones
	ErasedAt     *string     `json:"erased_at"`        // what belonged to it
	AgainAt      *string     `json:"erased_again_due"` // because of requests that were still running
	RepeatedAt   *string     `json:"erased_again_at"`  // from then on nothing is left
	KeyDestroyed *string     `json:"key_destroyed_at"` // its sealed data is unreadable
	Left         []leftReply `json:"left"`
}

type leftReply struct {
	What  string `json:"what"`
	Count int64  `json:"count"`
}

func (a *Erasures) show(call *web.Call, in erasureRequest) (web.Reply, error) {
	found, err := a.Audit.Erasure(call, in.Account, a.Stores)
	if err != nil {
		return web.Reply{}, err
	}
	reply := erasureReply{
		AccountID: in.Account, State: stateOf(found), Complete: found.Complete(),
		ClosedAt: shown(found.Closed), ErasedAt: shown(found.Erased), AgainAt: shown(found.AgainAt),
		RepeatedAt: shown(found.Repeated), KeyDestroyed: shown(found.Key), Left: []leftReply{},
	}
	for _, left := range found.Left {
		reply.Left = append(reply.Left, leftReply(left))
	}
	return web.JSON(reply), nil
}

func stateOf(e audit.Erasure) string {
	switch {
	case e.Closed.IsZero():
		return "open"
	case e.Complete():
		return "complete"
	case !e.Erased.IsZero():
		return "erased"
	}
	return "ending"
}

// shown returns a time as text, nil for the zero time.
func shown(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	return new(at.UTC().Format(time.RFC3339))
}
