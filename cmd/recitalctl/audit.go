package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// audits are the commands of auditors.
type audits struct {
	Sessions  auditSessions `cmd:"" help:"${audits_sessions}"`
	Billing   auditList     `cmd:"" help:"What it costs: subscriptions, payments, periods, credit."`
	Operators auditList     `cmd:"" help:"${audits_operators}"`
	Activity  auditList     `cmd:"" help:"${audits_activity}"`
	Verify    auditVerify   `cmd:"" help:"${audits_verify}"`
	Heads     auditHeads    `cmd:"" help:"List the signed heads of the log, or keep them in a file elsewhere, as proof."`
}

// auditList lists the entries of the area after which the command is named.
type auditList struct {
	Account  string `placeholder:"ID" help:"Only entries on this account."`
	Email    string `placeholder:"ADDRESS" help:"${audit_filters_email}"`
	Session  string `placeholder:"ID" help:"Only entries on this session."`
	Kind     string `placeholder:"TYPE" help:"Only events of this type, such as session-opened."`
	Operator string `placeholder:"NAME" help:"Only what the operator or auditor of this name did."`
	From     moment `placeholder:"TIME" help:"${audit_filters_from}"`
	To       moment `placeholder:"TIME" help:"The time before which entries are listed."`
	Limit    int    `default:"1000" help:"How many at most; 0: all."`
	Personal bool   `help:"With personal data (address, device, name, e-mail), for auditors. Needs --reason."`
	Format   format `default:"table" enum:"table,json,csv" help:"${audit_filters_format}"`
}

type auditSessions struct{ auditList }

// Help is shown below the flags.
func (*auditSessions) Help() string {
	return `Examples:
  recitalctl audit sessions --account 0190b0c0111172228333444455556666
  recitalctl audit sessions --kind session-opened --from 2026-11-01 --to 2026-12-01 --format csv --limit 0
  recitalctl audit sessions --operator ada
  recitalctl audit sessions --email jane@example.org --personal --reason "Ticket 7"

The token is that of an auditor (auditor-token in the data folder, or --token-file), or else that of an operator, to
whom no personal data is shown.`
}

// Validate is called by kong.
func (c *auditList) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit is 0 or more")
	}
	return nil
}

// auditEntry is the admin API's description of an entry.
type auditEntry struct {
	At          stamp        `json:"at" col:"time"`
	Kind        string       `json:"kind"`
	Sentence    string       `json:"sentence" col:"what"`
	Personal    personalData `json:"personal,omitempty" col:"personal"`
	AccountID   *string      `json:"account_id" col:",wide"`
	SessionID   *string      `json:"session_id" col:",wide"`
	Actor       auditActor   `json:"actor" col:"*"`
	Stream      string       `json:"stream" col:",wide"`
	Revision    int64        `json:"revision" col:",wide"`
	Position    string       `json:"position" col:",wide"`
	EventID     string       `json:"event_id" col:",wide"`
	Correlation string       `json:"correlation" col:",wide"`
	Causation   string       `json:"causation" col:",wide"`
}

// auditActor is the actor that caused an entry.
type auditActor struct {
	Kind    string `json:"kind" col:"actor,wide"`
	Name    string `json:"name,omitempty" col:"actor_name,wide"`
	Role    string `json:"role,omitempty" col:"actor_role,wide"`
	Address string `json:"address,omitempty" col:"actor_address,wide"`
	Reason  string `json:"reason,omitempty" col:"actor_reason,wide"`
	Key     string `json:"key,omitempty" col:"actor_key,wide"`
	Session string `json:"session,omitempty" col:"actor_session,wide"`
}

// stamp is a time of the admin API.
type stamp string

func (s stamp) cell(people bool) string {
	at, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil || !people {
		return string(s)
	}
	return local(at)
}

// personalData has the personal data of an entry in one cell.
type personalData map[string]string

func (d personalData) cell(bool) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		fields = append(fields, name+"="+d[name])
	}
	return strings.Join(fields, "; ")
}

type auditPage struct {
	Entries  []auditEntry `json:"entries"`
	Next     *string      `json:"next_page_token"`
	Position string       `json:"position"`
}

func (p auditPage) size() int     { return len(p.Entries) }
func (p auditPage) next() *string { return p.Next }

const maxAuditPage = 500

// Run prints page by page, so that a long list needs no more memory than a short one.
func (c *auditList) Run(ctx context.Context, command *kong.Context, admin auditor, to terminal) error {
	area := command.Selected().Name
	if c.Personal || c.Email != "" {
		if err := admin.needsReason(); err != nil {
			return err
		}
	}
	out := newPrinter[auditEntry](c.Format, to)
	if !c.Personal {
		out.columns = slices.DeleteFunc(out.columns, func(column column) bool { return column.name == "personal" })
	}
	list := listing{"listing " + area, "/admin/audit/" + area, c.query(admin.Reason), "page_token", c.Limit, maxAuditPage}
	more := false
	for page, err := range pages[auditPage](ctx, admin.client, list) {
		switch {
		case err != nil && c.Personal && exitCode(err) == exitToken:
			return fmt.Errorf("personal data is for auditors, so it needs the token of one (--token-file): %w", err)
		case err != nil:
			return err
		}
		if err := out.print(page.Entries...); err != nil {
			return err
		}
		more = page.Next != nil
	}
	if more {
		fmt.Fprintln(to.notes, "\nThere is more: --limit 0 lists all.")
	}
	return nil
}

func (c *auditList) query(reason string) url.Values {
	query := queryOf(map[string]string{
		"account": c.Account, "email": c.Email, "session": c.Session, "kind": c.Kind, "operator": c.Operator,
		"from": c.From.String(), "to": c.To.String(), "reason": reason,
	})
	if c.Personal {
		query.Set("personal", "true")
	}
	return query
}

// moment is a time as a person writes it; zero where nothing was written.
type moment struct{ time.Time }

// UnmarshalText parses a time. Without a zone it is one of this machine's.
func (m *moment) UnmarshalText(text []byte) error {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly,
	} {
		if at, err := time.ParseInLocation(layout, string(text), time.Local); err == nil && !at.IsZero() {
			m.Time = at
			return nil
		}
	}
	return fmt.Errorf("%q is no time: write 2026-11-22, 2026-11-22 15:04 or 2026-11-22T15:04:05Z", printable(string(text)))
}

// String returns the time as the admin API takes it, "" for none.
func (m moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.UTC().Format(time.RFC3339Nano)
}
