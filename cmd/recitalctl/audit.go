package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// audits are the commands of auditors.
type audits struct {
	Sessions  auditSessions  `cmd:"" help:"Who came in: sessions, sign-ins, keys, accounts, operators, reads of personal data."`
	Billing   auditBilling   `cmd:"" help:"What it costs: subscriptions, payments, periods, credit."`
	Operators auditOperators `cmd:"" help:"What operators and auditors did, in all areas: also what they changed and copied of the service itself."`
	Activity  auditActivity  `cmd:"" help:"What is made and removed: voices, stars, clips, variables at the hosting platform."`
	Verify    auditVerify    `cmd:"" help:"Check that nobody has changed, removed, added or reordered an event, by the signed heads of the log."`
	Heads     auditHeads     `cmd:"" help:"List the signed heads of the log, or keep them in a file elsewhere, as proof."`
}

// auditFilters are what entries are chosen by.
type auditFilters struct {
	Account  string `placeholder:"ID" help:"Only entries on this account."`
	Email    string `placeholder:"ADDRESS" help:"Only entries on the accounts whose owner has this e-mail address. Needs --reason."`
	Session  string `placeholder:"ID" help:"Only entries on this session."`
	Kind     string `placeholder:"TYPE" help:"Only events of this type, such as session-opened."`
	Operator string `placeholder:"NAME" help:"Only what the operator or auditor of this name did."`
	From     moment `placeholder:"TIME" help:"The earliest time: 2026-11-22, 2026-11-22 15:04 or 2026-11-22T15:04:05Z; without a zone, in that of this machine."`
	To       moment `placeholder:"TIME" help:"The time before which entries are listed."`
	Limit    int    `default:"1000" help:"How many at most; 0: all."`
	Personal bool   `help:"With personal data (address, device, name, e-mail), for auditors. Needs --reason."`
	Format   format `default:"table" enum:"table,json,csv" help:"Form of the result: table, json (a line for each entry) or csv."`
}

type auditSessions struct{ auditFilters }

type auditBilling struct{ auditFilters }

type auditActivity struct{ auditFilters }

type auditOperators struct{ auditFilters }

// Help is shown below the flags.
func (*auditSessions) Help() string {
	return `Examples:
  recitalctl audit sessions --account 0190b0c0111172228333444455556666
  recitalctl audit sessions --kind session-opened --from 2026-11-01 --to 2026-12-01 --format csv --limit 0
  recitalctl audit sessions --operator ada
  recitalctl audit sessions --email jane@example.org --personal --reason "Ticket 7"

The token is that of an auditor (auditor-token in the data folder, or --token-file), or else that of an operator, to whom no
personal data is shown.`
}

// Run lists the entries.
func (c *auditSessions) Run(ctx context.Context, s settings, to terminal) error {
	return c.list(ctx, s.asAuditor(), to, "sessions")
}

// Run lists the entries.
func (c *auditBilling) Run(ctx context.Context, s settings, to terminal) error {
	return c.list(ctx, s.asAuditor(), to, "billing")
}

// Run lists the entries.
func (c *auditActivity) Run(ctx context.Context, s settings, to terminal) error {
	return c.list(ctx, s.asAuditor(), to, "activity")
}

// Run lists the entries.
func (c *auditOperators) Run(ctx context.Context, s settings, to terminal) error {
	return c.list(ctx, s.asAuditor(), to, "operators")
}

// Validate is called by kong.
func (c *auditFilters) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit is 0 or more")
	}
	return nil
}

// auditEntry is the admin API's description of an entry.
type auditEntry struct {
	At        string  `json:"at"`
	Kind      string  `json:"kind"`
	AccountID *string `json:"account_id"`
	SessionID *string `json:"session_id"`
	Sentence  string  `json:"sentence"`
	Actor     struct {
		Kind    string `json:"kind"`
		Name    string `json:"name,omitempty"`
		Role    string `json:"role,omitempty"`
		Address string `json:"address,omitempty"`
		Reason  string `json:"reason,omitempty"`
		Key     string `json:"key,omitempty"`
		Session string `json:"session,omitempty"`
	} `json:"actor"`
	Correlation string            `json:"correlation"`
	Causation   string            `json:"causation"`
	EventID     string            `json:"event_id"`
	Stream      string            `json:"stream"`
	Revision    int64             `json:"revision"`
	Position    string            `json:"position"`
	Personal    map[string]string `json:"personal,omitempty"`
}

type auditPage struct {
	Entries  []auditEntry `json:"entries"`
	Next     *string      `json:"next_page_token"`
	Position string       `json:"position"`
}

const maxAuditPage = 500

// list prints page by page, so that a long list needs no more memory than a short one.
func (c *auditFilters) list(ctx context.Context, s settings, to terminal, area string) error {
	if c.Personal || c.Email != "" {
		if err := s.needsReason(); err != nil {
			return err
		}
	}
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	out, left, query := newEntryPrinter(c.Format, to, c.Personal), c.Limit, c.query(s)
	for {
		size := maxAuditPage
		if c.Limit > 0 {
			size = min(size, left)
		}
		query.Set("limit", strconv.Itoa(size))
		var page auditPage
		if _, err := admin.get(ctx, "/admin/audit/"+area+"?"+query.Encode(), &page); err != nil {
			return c.failed(area, err)
		}
		if page.Entries == nil {
			return admin.notUnderstood()
		}
		if err := out.print(page.Entries); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		left -= len(page.Entries)
		switch {
		case page.Next == nil:
			return nil
		case c.Limit > 0 && left <= 0:
			fmt.Fprintln(to.notes, "\nThere is more: --limit 0 lists all.")
			return nil
		}
		query.Set("page_token", *page.Next)
	}
}

func (c *auditFilters) failed(area string, err error) error {
	if c.Personal && exitCode(err) == exitToken {
		return fmt.Errorf("personal data is for auditors, so it needs the token of one (--token-file): %w", err)
	}
	return fmt.Errorf("listing %s: %w", area, err)
}

func (c *auditFilters) query(s settings) url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"account": c.Account, "email": c.Email, "session": c.Session, "kind": c.Kind, "operator": c.Operator, "from": c.From.String(), "to": c.To.String(), "reason": s.Reason,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.Personal {
		query.Set("personal", "true")
	}
	return query
}

// entryPrinter prints pages of entries one after another.
type entryPrinter struct {
	format  format
	to      terminal
	columns []column[auditEntry]
	begun   bool
}

func newEntryPrinter(f format, to terminal, personal bool) *entryPrinter {
	text := func(name string, of func(auditEntry) string) column[auditEntry] {
		return column[auditEntry]{name: name, people: of}
	}
	columns := []column[auditEntry]{
		{name: "time", people: func(e auditEntry) string { return e.localTime() }, raw: func(e auditEntry) string { return e.At }},
		text("kind", func(e auditEntry) string { return e.Kind }),
		text("what", func(e auditEntry) string { return e.Sentence }),
	}
	if personal {
		columns = append(columns, text("personal", auditEntry.personal))
	}
	shown := len(columns)
	columns = append(columns,
		text("account_id", func(e auditEntry) string { return orNothing(e.AccountID) }),
		text("session_id", func(e auditEntry) string { return orNothing(e.SessionID) }),
		text("actor", func(e auditEntry) string { return e.Actor.Kind }),
		text("actor_name", func(e auditEntry) string { return e.Actor.Name }),
		text("actor_role", func(e auditEntry) string { return e.Actor.Role }),
		text("actor_address", func(e auditEntry) string { return e.Actor.Address }),
		text("actor_reason", func(e auditEntry) string { return e.Actor.Reason }),
		text("actor_key", func(e auditEntry) string { return e.Actor.Key }),
		text("actor_session", func(e auditEntry) string { return e.Actor.Session }),
		text("stream", func(e auditEntry) string { return e.Stream }),
		text("revision", func(e auditEntry) string { return strconv.FormatInt(e.Revision, 10) }),
		text("position", func(e auditEntry) string { return e.Position }),
		text("event_id", func(e auditEntry) string { return e.EventID }),
		text("correlation", func(e auditEntry) string { return e.Correlation }),
		text("causation", func(e auditEntry) string { return e.Causation }))
	for i := range columns[shown:] {
		columns[shown+i].wide = true
	}
	return &entryPrinter{format: f, to: to, columns: columns}
}

// print prints a page. Only the first has a head; the columns of a table are aligned within a page.
func (p *entryPrinter) print(entries []auditEntry) error {
	first := !p.begun
	p.begun = true
	if p.format == jsonValue {
		lines := json.NewEncoder(p.to.out)
		for _, entry := range entries {
			if err := lines.Encode(entry); err != nil {
				return err
			}
		}
		return nil
	}
	head, rows := cellsOf(p.format, p.to, p.columns, entries)
	switch rows = inOneLine(rows); {
	case first:
		return p.format.print(p.to, nil, head, rows)
	case p.format == csvRows:
		return csv.NewWriter(p.to.out).WriteAll(rows)
	}
	return printTable(p.to, rows)
}

func (e auditEntry) localTime() string {
	at, err := time.Parse(time.RFC3339Nano, e.At)
	if err != nil {
		return e.At
	}
	return at.Local().Format(time.DateTime)
}

// personal returns the personal data in one cell.
func (e auditEntry) personal() string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(e.Personal)) {
		fields = append(fields, name+"="+e.Personal[name])
	}
	return strings.Join(fields, "; ")
}

func orNothing(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// moment is a time as a person writes it; zero where nothing was written.
type moment struct{ time.Time }

// UnmarshalText parses a time. Without a zone it is one of this machine's.
func (m *moment) UnmarshalText(text []byte) error {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, string(text), time.Local); err == nil {
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

// asAuditor returns the settings with the auditor's token of the data folder, if there is one that can be read.
func (s settings) asAuditor() settings {
	s.tokenName = "auditor-token"
	if _, err := s.token(); err != nil && s.TokenFile == "" {
		s.tokenName = ""
	}
	return s
}
