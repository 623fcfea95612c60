package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// entriesRequest has filters that are recorded unchanged, so the patterns of ids exclude e-mail addresses.
type entriesRequest struct {
	Account  string       `query:"account" maxlen:"64" pattern:"^[A-Za-z0-9._-]*$"`
	Email    string       `query:"email" maxlen:"320" doc:"of the owner of an open account"`
	Session  string       `query:"session" maxlen:"64" pattern:"^[A-Za-z0-9._-]*$"`
	Kind     string       `query:"kind" maxlen:"64" pattern:"^[A-Za-z0-9._-]*$" doc:"an event type: session-opened"`
	Operator string       `query:"operator" maxlen:"64" pattern:"^[A-Za-z0-9._-]*$" doc:"name of the operator or auditor"`
	From     *web.Instant `query:"from" maxlen:"40" doc:"the earliest time, as 2026-11-22T15:04:05Z"`
	To       *web.Instant `query:"to" maxlen:"40" doc:"the end of the time, exclusive"`
	Limit    int          `query:"limit" default:"100" ge:"1" le:"1000"`
	Page     place        `query:"page_token" maxlen:"200" doc:"next_page_token of the previous page, with the same filters"`
	Personal bool         `query:"personal" default:"false" doc:"with personal data, for auditors"`
	Reason   string       `query:"reason" maxlen:"500" doc:"the reason for reading personal data, which is stored in the log"`
}

// entries returns a page. A look-up of an e-mail address and a read of personal data are recorded after the rows are
// read, so that their number is known, and before the reply.
func (a *API) entries(call *web.Call, area string, in entriesRequest) (web.Reply, error) {
	if in.Personal && call.Role != auditor {
		return web.Reply{}, domain.Refuse(domain.Denied, "Personal data is for auditors")
	}
	recorded := in.Personal || in.Email != ""
	if recorded && in.Reason == "" {
		return web.Reply{}, needsReason(call)
	}
	asked, f, err := a.asked(call, area, in)
	if err != nil {
		return web.Reply{}, err
	}
	page, err := a.page(call, f)
	if err != nil {
		return web.Reply{}, err
	}
	if recorded {
		if err := a.Record(call, asked, len(page.rows), in.Reason); err != nil {
			return web.Reply{}, err
		}
	}
	response := adminapi.AuditEntries{
		Entries: make([]adminapi.AuditEntry, len(page.rows)), Next: page.next, Position: page.position,
	}
	for i, row := range page.rows {
		var personal map[string]string
		if in.Personal {
			if personal, err = a.open(call, row); err != nil {
				return web.Reply{}, err
			}
		}
		response.Entries[i] = responseOf(row, personal)
	}
	call.SetPosition(page.position)
	return web.JSON(response).WithHeader("Cache-Control", "no-store"), nil
}

// asked returns the query to record and the filter to read by.
func (a *API) asked(call *web.Call, area string, in entriesRequest) (asked Query, f filter, err error) {
	if err := a.knows(call, in.Kind); err != nil {
		return asked, f, err
	}
	asked = Query{
		Of: area, Account: in.Account, Session: in.Session, Kind: in.Kind, Operator: in.Operator,
		From: (*time.Time)(in.From), To: (*time.Time)(in.To), Page: in.Page.String(), Personal: in.Personal,
	}
	f = filter{
		area: area, session: in.Session, kind: in.Kind, operator: in.Operator, from: asked.From, to: asked.To,
		limit: in.Limit, after: in.Page,
	}
	if in.Account != "" {
		f.accounts = []string{in.Account}
	}
	if asked.EmailHash, err = a.hashed(call, in.Email); err != nil || in.Email == "" {
		return asked, f, err
	}
	owned, err := a.owned(call, asked.EmailHash)
	if in.Account != "" {
		owned = slices.DeleteFunc(owned, func(id string) bool { return id != in.Account })
	}
	f.accounts, f.none = owned, len(owned) == 0
	return asked, f, err
}

// knows refuses a kind that no event has, and names the kinds with the same prefix.
func (a *API) knows(call *web.Call, kind string) error {
	if kind == "" || slices.Contains(a.Kinds, kind) {
		return nil
	}
	prefix, _, _ := strings.Cut(kind, "-")
	alike := slices.DeleteFunc(slices.Sorted(slices.Values(a.Kinds)), func(known string) bool {
		return !strings.HasPrefix(known, prefix+"-")
	})
	message := "no event is of the kind " + kind
	if len(alike) > 0 {
		message += "; there are " + strings.Join(alike, ", ")
	}
	return call.Invalid("kind", message)
}

// profilesQuery selects profiles by the hash of their e-mail address ($1).
var profilesQuery = readapi.From(readmodel.ProfilesView,
	`where email_hash = $1 order by account_id`, "looking up an e-mail address")

func (a *API) owned(call *web.Call, hash string) (accounts []string, err error) {
	profiles, _, err := profilesQuery.Select(call, a.Models, hash)
	for _, profile := range profiles {
		accounts = append(accounts, profile.Account)
	}
	return accounts, err
}

// open decrypts the personal data of an entry, except for erased data.
func (a *API) open(call *web.Call, row readmodel.AuditRow) (map[string]string, error) {
	opened := map[string]string{}
	for _, field := range row.Personal {
		plain, err := keyring.OpenText(call, a.Keys, field.Account, field.Sealed, field.Use)
		if err != nil {
			return nil, err
		}
		if plain != nil {
			opened[field.Name] = *plain
		}
	}
	return opened, nil
}

func responseOf(r readmodel.AuditRow, personal map[string]string) adminapi.AuditEntry {
	return adminapi.AuditEntry{
		At: r.At.UTC().Format(time.RFC3339Nano), Kind: r.Kind, AccountID: r.Account, SessionID: r.Session,
		Sentence: r.Sentence + ". " + by(r) + from(personal) + ".",
		Actor: adminapi.AuditActor{
			Kind: r.ActorKind, Name: r.ActorName, Role: r.ActorRole, Address: r.ActorAddress, Reason: r.ActorReason,
			Key: r.ActorKey, Session: r.ActorSession,
		},
		Correlation: r.Correlation, Causation: r.Causation, EventID: r.EventID, Stream: r.Stream,
		Revision: int64(r.Revision), Position: positionOf(r).String(), Personal: personal,
	}
}

// from returns the network address of the command in words, if it is among the personal data shown.
func from(personal map[string]string) string {
	if address := personal[readmodel.AuditAddress]; address != "" {
		return ", from " + address
	}
	return ""
}

// by returns the actor in words.
func by(r readmodel.AuditRow) string {
	switch {
	case r.ActorKind == "operator" && r.ActorName == "":
		return "An operator did it"
	case r.ActorKind == "operator":
		return byOperator(r)
	case r.ActorKind == "system":
		return "Recital did it automatically"
	case r.ActorSession != "":
		return "The account's owner did it, in session " + r.ActorSession
	case r.ActorKey != "":
		return "The account's owner did it, with API key " + r.ActorKey
	}
	return "The person who signed in did it"
}

// byOperator returns an operator or auditor in words, with address and reason.
func byOperator(r readmodel.AuditRow) string {
	who := map[string]string{"operator": "Operator ", "auditor": "Auditor ", "offline": "System user "}[r.ActorRole]
	if who == "" {
		who = "Operator or auditor "
	}
	who += r.ActorName + " did it"
	if r.ActorAddress != "" {
		who += ", from " + r.ActorAddress
	}
	if r.ActorReason != "" {
		who += ", with the reason: " + strings.TrimSuffix(r.ActorReason, ".")
	}
	return who
}
