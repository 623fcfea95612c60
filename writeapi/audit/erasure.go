package audit

import (
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/internal/http/web"
)

// Erasures shows what became of accounts that were closed.
type Erasures struct {
	Audit  *audit.Audit
	Stores audit.Stores
}

// AdminRoutes are the rows for the admin route table.
func (a *Erasures) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/accounts/{account_id}/erasure", a.show, web.Role("operator", "auditor"), web.Tag("Auditors"),
			web.Summary("What was erased of an account, and what is left to do"), web.Returns[erasureReply](), web.Refuses(404)),
	}
}

type erasureRequest struct {
	Account string `path:"account_id" doc:"id of the account"`
}

type erasureReply struct {
	AccountID    string      `json:"account_id"`
	State        string      `json:"state"`            // open, ending, erased (once), complete
	Complete     bool        `json:"complete"`         // nothing is left, and nothing can come any more
	ClosedAt     *string     `json:"closed_at"`        // null where it has not come to that, as in the next ones
	ErasedAt     *string     `json:"erased_at"`        // what belonged to it
	AgainAt      *string     `json:"erased_again_due"` // because of requests that were still running
	RepeatedAt   *string     `json:"erased_again_at"`  // from then on nothing can have been left
	KeyDestroyed *string     `json:"key_destroyed_at"` // whatever it sealed is unreadable
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
		ClosedAt: shown(found.Closed), ErasedAt: shown(found.Erased), AgainAt: shown(found.AgainAt), RepeatedAt: shown(found.Repeated), KeyDestroyed: shown(found.Key),
		Left: []leftReply{},
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

// shown returns a time for a reply; null for none.
func shown(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := at.UTC().Format(time.RFC3339)
	return &text
}
