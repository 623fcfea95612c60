// Package audit serves auditors from the log itself.
package audit

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// API shows past states of accounts and the progress of erasures, and proves that the log was not changed.
type API struct {
	Audit  *audit.Audit
	Heads  *audit.Heads // of the audit chain, read from the log itself and not from a read model
	Stores audit.Stores // of the data of closed accounts
	Now    func() time.Time

	checks atomic.Int64 // running
}

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	roles, tag := web.Role("operator", "auditor"), web.Tag("Auditors")
	return []web.Route{
		web.Get("/admin/accounts/{account_id}", a.account, roles, tag,
			web.Summary("An account as it was at a time, folded from its streams"),
			web.Returns[adminapi.AccountAsOf](), web.Refuses(404)),
		web.Get("/admin/accounts/{account_id}/erasure", a.erasure, roles, tag,
			web.Summary("The progress of an account's erasure, and its remaining data"),
			web.Returns[adminapi.ErasureReply](), web.Refuses(404)),
		web.Get("/admin/audit/heads", a.heads, roles, tag,
			web.Summary("The signed heads of the log, in order"),
			web.Description("A head covers all events of the log up to one of them, and is signed. "+
				"A copy kept elsewhere proves later that none of them was changed."),
			web.Returns[adminapi.HeadsReply]()),
		web.Get("/admin/audit/key", a.key, roles, tag,
			web.Summary("The public key that proves the heads of this instance"), web.Returns[adminapi.KeyReply]()),
		web.Get("/admin/audit/verification", a.verify, roles, tag,
			web.Resumed(longestCheck), web.Summary("Check the log against its signed heads"),
			web.Description("Server-sent events. The event `progress` has the progress of the check, `report` its findings, "+
				"and `failed` an error with advice; each of the last two is the end. "+
				"The instance checks with its own key, so its operator could forge the result: "+
				"auditors check with `recitalctl audit verify` on their own machine, with their own copies of the heads."),
			web.ReturnsMedia([]string{"text/event-stream"}, web.Means("Server-sent events, until the check has ended")),
			web.Refuses(http.StatusServiceUnavailable)),
	}
}

type accountRequest struct {
	AccountID string       `path:"account_id" maxlen:"64"`
	AsOf      *web.Instant `query:"as_of" maxlen:"40" doc:"the time, as 2026-11-22T15:04:05Z; now by default"`
}

func (a *API) account(call *web.Call, in accountRequest) (web.Reply, error) {
	at := a.Now().UTC()
	if in.AsOf != nil {
		asked := time.Time(*in.AsOf)
		if asked.After(at) {
			return web.Reply{}, call.Invalid("as_of", "the time is in the future")
		}
		at = asked
	}
	found, err := a.Audit.Account(call, in.AccountID, at)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(responseOf(found, at)).WithHeader("Cache-Control", "no-store"), nil
}

// states are the names of the phases of closing.
var states = map[account.Closing]string{
	account.NotClosed: "open", account.Ending: "closed", account.ErasedOnce: "erased", account.ErasedForAll: "erased",
}

func responseOf(found audit.Account, at time.Time) adminapi.AccountAsOf {
	running := found.Entitlement.Running(at)
	response := adminapi.AccountAsOf{
		AccountID: found.Account, AsOf: at, OpenedAt: found.OpenedAt, State: states[found.Closing],
		Plan: string(running.Plan), EntitledUntil: writeapi.OrNull(running.End),
		Operator: found.Operator, AcceptedTOS: found.TermsAccepted, WantsEmail: found.WantsEmail, APIKeys: []string{},
		InstantVoices: found.Instant, Professional: found.Professional,
		SessionsBefore: writeapi.OrNull(found.SessionsRevokedAt),
	}
	for _, key := range found.Keys {
		response.APIKeys = append(response.APIKeys, key.Masked)
	}
	if s := found.Subscription; s != nil {
		response.Subscription = &adminapi.SubscriptionAsOf{
			ID: s.Subscription, Status: s.Status, Plan: string(s.Plan), Price: s.Price,
			PeriodStart: s.PeriodStart, PeriodEnd: s.PeriodEnd, CancelAt: writeapi.OrNull(s.CancelAt),
		}
	}
	if used := found.Usage; used.Exists() {
		allowed := used.Allowance()
		response.Usage = &adminapi.UsageAsOf{
			Plan: string(allowed.Plan), PeriodStart: used.Terms.Start, PeriodEnd: used.Terms.End, Limit: allowed.Limit,
			Characters: allowed.Settled, Reserved: allowed.Reserved, Credit: allowed.Credit,
		}
	}
	for _, seen := range found.From {
		response.From = append(response.From, adminapi.FoldedStream{
			Stream: seen.Stream, Revision: int64(seen.Revision), At: seen.At,
		})
	}
	return response
}

type erasureRequest struct {
	Account string `path:"account_id" doc:"id of the account"`
}

func (a *API) erasure(call *web.Call, in erasureRequest) (web.Reply, error) {
	found, err := a.Audit.Erasure(call, in.Account, a.Stores)
	if err != nil {
		return web.Reply{}, err
	}
	reply := adminapi.ErasureReply{
		AccountID: in.Account, State: stateOf(found), Complete: found.Complete(),
		ClosedAt: shown(found.Closed), ErasedAt: shown(found.Erased), AgainAt: shown(found.AgainAt),
		RepeatedAt: shown(found.Repeated), KeyDestroyed: shown(found.Key), Left: []adminapi.LeftReply{},
	}
	for _, left := range found.Left {
		reply.Left = append(reply.Left, adminapi.LeftReply(left))
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

// shown returns a time as text, or nil for the zero time.
func shown(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	return new(at.UTC().Format(time.RFC3339))
}
