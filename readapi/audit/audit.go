// Package audit serves what auditors and operators ask: who did what, when and from where.
package audit

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves the entries of the read model, and accounts by the e-mail addresses of their owners.
type API struct {
	Models readapi.Models
	Keys   keyring.Opener
	Kinds  []string // the types of events

	// EmailHash returns what ProfilesView has for an e-mail address.
	EmailHash func(ctx context.Context, address string) (string, error)
	// Record records that the caller is about to be shown personal data of count rows, for a reason. What it refuses is
	// not shown.
	Record func(call *web.Call, asked Query, count int, reason string) error
}

// Query is what was asked, for Record.
type Query struct {
	Of        string // what is listed: an area of readmodel, or OfAccounts
	Account   string
	EmailHash string
	Session   string
	Kind      string
	From, To  *time.Time
	Operator  string
	Page      string
	Personal  bool // personal data is shown
}

// auditor is the role of the admin tokens to which personal data is shown.
const auditor = "auditor"

// OfAccounts is what a Query for accounts lists.
const OfAccounts = "accounts"

// AdminRoutes are the rows for the admin route table. An auditor may read personal data, an operator may not; of both
// it is recorded that they looked an e-mail address up.
func (a *API) AdminRoutes() []web.Route {
	roles, tag, recorded := web.Role("operator", auditor), web.Tag("Auditors"), web.Acts(web.Act{Own: true})
	reads := web.Reads(readmodel.AuditView, readmodel.ProfilesView.View)
	return []web.Route{
		web.Get("/admin/audit/sessions", a.sessions, roles, tag, reads, web.ChangesState(), recorded, web.Summary("Sessions, sign-ins, keys, accounts, and reads of personal data"),
			web.Description(described), web.Returns[auditEntries](), web.Refuses(400, 403)),
		web.Get("/admin/audit/billing", a.billing, roles, tag, reads, web.ChangesState(), recorded, web.Summary("Subscriptions, payments, periods and credit"),
			web.Description(described), web.Returns[auditEntries](), web.Refuses(400, 403)),
		web.Get("/admin/audit/activity", a.activity, roles, tag, reads, web.ChangesState(), recorded, web.Summary("Voices, stars, deleted clips, and variables at the hosting platform"),
			web.Description(described), web.Returns[auditEntries](), web.Refuses(400, 403)),
		web.Get("/admin/audit/operators", a.operators, roles, tag, reads, web.ChangesState(), recorded,
			web.Summary("What operators and auditors did, in all areas: also what they changed and copied of the service itself"),
			web.Description(described), web.Returns[auditEntries](), web.Refuses(400, 403)),
		web.Get("/admin/audit/accounts", a.find, roles, tag, web.Reads(readmodel.ProfilesView.View, readmodel.AccountsView.View), web.ChangesState(), recorded,
			web.Summary("Accounts by the e-mail address of their owner"),
			web.Description("It is recorded who has looked an address up, and for what reason, before the answer is given."),
			web.Returns[foundAccounts](), web.Refuses(400)),
	}
}

const described = "Entries come in the order of their times, as the log had them when the first page was read. Personal data is for auditors. " +
	"Before it is shown, and before an e-mail address is looked up, it is recorded who asks, and for what reason."

// needsReason is the refusal of a call without one.
func needsReason(call *web.Call) error {
	return call.Invalid("reason", "personal data is only read for a reason, which is recorded")
}

// hashed returns the hash of an e-mail address, "" of none.
func (a *API) hashed(ctx context.Context, address string) (string, error) {
	if address == "" {
		return "", nil
	}
	hash, err := a.EmailHash(ctx, address)
	if err == nil && hash == "" {
		err = errors.New("an e-mail address has no hash")
	}
	return hash, err
}
