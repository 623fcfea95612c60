// Package audit serves the audit trail to auditors and operators, and owners the entries of their accounts.
package audit

import (
	"context"
	"errors"
	"time"

	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves the entries of the read model, and accounts by the e-mail addresses of their owners.
type API struct {
	Models readapi.Models
	Keys   keyring.Opener
	Kinds  []string // the types of events

	// EmailHash returns the hash of an e-mail address, as in ProfilesView.
	EmailHash func(ctx context.Context, address string) (string, error)
	// Record records that the caller will be shown the personal data of count rows, and the reason. If it fails, the
	// caller is shown none.
	Record func(call *web.Call, asked Query, count int, reason string) error
}

// Query is a query as it is recorded.
type Query struct {
	Of        string // an area of readmodel, or OfAccounts
	Account   string
	EmailHash string
	Session   string
	Kind      string
	From, To  *time.Time
	Operator  string
	Page      string
	Personal  bool // personal data is shown
}

// auditor is the role of the admin tokens that may read personal data.
const auditor = "auditor"

// OfAccounts is Query.Of for a query of accounts.
const OfAccounts = "accounts"

// AdminRoutes returns the rows for the admin route table. Auditors may read personal data, operators may not. Look-ups
// of e-mail addresses are recorded for both.
func (a *API) AdminRoutes() []web.Route {
	roles, tag, recorded := web.Role("operator", auditor), web.Tag("Auditors"), web.Acts(web.Act{Own: true})
	area := func(name, summary string) web.Route {
		serve := func(call *web.Call, in entriesRequest) (web.Reply, error) { return a.entries(call, name, in) }
		return web.Get("/admin/audit/"+name, serve, roles, tag, recorded, web.ChangesState(), web.Summary(summary),
			web.Reads(readmodel.AuditView.View, readmodel.ProfilesView.View),
			web.Description(description), web.Returns[adminapi.AuditEntries](), web.Refuses(400, 403))
	}
	return []web.Route{
		area(readmodel.AuditSessions, "Sessions, sign-ins, keys, accounts, and reads of personal data"),
		area(readmodel.AuditBilling, "Subscriptions, payments, periods and credit"),
		area(readmodel.AuditActivity, "Voices, stars, deleted clips, and variables at the hosting platform"),
		area(readmodel.AuditOperators,
			"Acts of operators and auditors in all areas, including changes and copies of the service itself"),
		web.Get("/admin/audit/accounts", a.find, roles, tag, recorded, web.ChangesState(),
			web.Reads(readmodel.ProfilesView.View, readmodel.AccountsView.View),
			web.Summary("Accounts by the e-mail address of their owner"),
			web.Description("The look-up, its caller and the reason are recorded before the reply."),
			web.Returns[adminapi.FoundAccounts](), web.Refuses(400)),
	}
}

const description = "Entries come in the order of their times, as the log had them when the first page was read. " +
	"Personal data is for auditors. " +
	"Reads of personal data and look-ups of e-mail addresses are recorded beforehand, with caller and reason."

// needsReason refuses a call without a reason.
func needsReason(call *web.Call) error {
	return call.Invalid("reason", "reads of personal data need a reason, which is recorded")
}

// hashed returns the hash of an e-mail address, "" for none.
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
