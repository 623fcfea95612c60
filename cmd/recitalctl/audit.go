package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/recital-tts/recital/internal/http/adminapi"
)

// audits are the commands of auditors.
type audits struct {
	Sessions  auditSessions `cmd:"" help:"${audits_sessions}"`
	Billing   auditList     `cmd:"" help:"Billing: subscriptions, payments, periods, credit."`
	Operators auditList     `cmd:"" help:"${audits_operators}"`
	Activity  auditList     `cmd:"" help:"${audits_activity}"`
	Verify    auditVerify   `cmd:"" help:"${audits_verify}"`
	Heads     auditHeads    `cmd:"" help:"List the signed heads of the log, or export them to a file, as proof."`
}

// auditList lists the entries of the area that the command is named after.
type auditList struct {
	Account  string `placeholder:"ID" help:"Only entries on this account."`
	Email    string `placeholder:"ADDRESS" help:"${audit_filters_email}"`
	Session  string `placeholder:"ID" help:"Only entries on this session."`
	Kind     string `placeholder:"TYPE" help:"Only events of this type, such as session-opened."`
	Operator string `placeholder:"NAME" help:"Only entries that the operator or auditor of this name caused."`
	From     moment `placeholder:"TIME" help:"${audit_filters_from}"`
	To       moment `placeholder:"TIME" help:"The time before which entries are listed."`
	Limit    int    `default:"1000" help:"Maximum number; 0 means all."`
	Personal bool   `help:"With personal data (address, device, name, e-mail), for auditors. Needs --reason."`
	Format   format `default:"table" enum:"table,json,csv" help:"${audit_filters_format}"`
}

type auditSessions struct{ auditList }

// Help implements kong.HelpProvider.
func (*auditSessions) Help() string {
	return `Examples:
  recitalctl audit sessions --account 0190b0c0111172228333444455556666
  recitalctl audit sessions --kind session-opened --from 2026-11-01 --to 2026-12-01 --format csv --limit 0
  recitalctl audit sessions --operator ada
  recitalctl audit sessions --email jane@example.org --personal --reason "Ticket 7"

The token is an auditor's (auditor-token in the data folder, or --token-file), or else an operator's, which gives no
access to personal data.`
}

// Validate implements kong's check of arguments.
func (c *auditList) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit is 0 or more")
	}
	return nil
}

const maxAuditPage = 500

// Run prints page by page, so that memory does not grow with the list.
func (c *auditList) Run(ctx context.Context, command *kong.Context, admin auditor, to terminal) error {
	area := command.Selected().Name
	if c.Personal || c.Email != "" {
		if err := admin.needsReason(); err != nil {
			return err
		}
	}
	out := newPrinter[adminapi.AuditEntry](c.Format, to)
	if !c.Personal {
		out.columns = slices.DeleteFunc(out.columns, func(column column) bool { return column.name == "personal" })
	}
	list := listing{"listing " + area, "/admin/audit/" + area, c.query(admin.Reason), "page_token", c.Limit, maxAuditPage}
	more := false
	size := func(p adminapi.AuditEntries) (int, *string) { return len(p.Entries), p.Next }
	for page, err := range pages(ctx, admin.client, list, size) {
		switch {
		case err != nil && c.Personal && exitCode(err) == exitToken:
			return fmt.Errorf("personal data needs an auditor's token (--token-file): %w", err)
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

// moment is a time argument. The zero value is an absent one.
type moment struct{ time.Time }

// UnmarshalText parses a time. Without a zone, it is in the local zone.
func (m *moment) UnmarshalText(text []byte) error {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly,
	} {
		if at, err := time.ParseInLocation(layout, string(text), time.Local); err == nil && !at.IsZero() {
			m.Time = at
			return nil
		}
	}
	return fmt.Errorf("%q is not a time: write 2026-11-22, 2026-11-22 15:04 or 2026-11-22T15:04:05Z",
		printable(string(text)))
}

// String returns the time in the admin API's format, or "" if it is zero.
func (m moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.UTC().Format(time.RFC3339Nano)
}
