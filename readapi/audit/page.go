package audit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// filter is what a page is read by.
type filter struct {
	area     string
	accounts []string // none: all
	nobody   bool     // no account can be meant
	session  string
	kind     string
	operator string // name
	from, to *time.Time
	limit    int
	after    place
}

// place is where a page begins: after an entry, among those up to a position of the log. So all pages together are what
// the log had when the first one was read, also where an event arrives late with an earlier time. The zero place is the
// beginning.
type place struct {
	at int64 // Unix microseconds
	position
	until position
}

type position struct{ commit, prepare int64 }

func (p position) String() string { return fmt.Sprintf("%d/%d", p.commit, p.prepare) }

func parsePosition(text string) (position, error) {
	var p position
	_, err := fmt.Sscanf(text, "%d/%d", &p.commit, &p.prepare)
	return p, err
}

// String returns the token of the place, "" for the beginning.
func (p place) String() string {
	if p == (place{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d.%d.%d.%d", p.at, p.commit, p.prepare, p.until.commit, p.until.prepare))
}

// UnmarshalText reads a token; "" is the beginning.
func (p *place) UnmarshalText(token []byte) error {
	if len(token) == 0 {
		return nil
	}
	wrong := errors.New("it is not one that an answer had")
	text, err := base64.RawURLEncoding.DecodeString(string(token))
	parts := strings.Split(string(text), ".")
	numbers := []*int64{&p.at, &p.commit, &p.prepare, &p.until.commit, &p.until.prepare}
	if err != nil || len(parts) != len(numbers) {
		return wrong
	}
	for i, part := range parts {
		if *numbers[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return wrong
		}
	}
	if year := time.UnixMicro(p.at).UTC().Year(); year < 1 || year > 9999 { // Postgres holds what clocks show
		return wrong
	}
	return nil
}

// entryRow is a row of the view.
type entryRow struct {
	Commit       int64                     `col:"log_commit"`
	Prepare      int64                     `col:"log_prepare"`
	At           time.Time                 `col:"at"`
	Kind         string                    `col:"kind"`
	Account      *string                   `col:"account_id"`
	Session      *string                   `col:"session_id"`
	Said         string                    `col:"said"`
	ActorKind    string                    `col:"actor_kind"`
	ActorName    string                    `col:"actor_name"`
	ActorRole    string                    `col:"actor_role"`
	ActorAddress string                    `col:"actor_address"`
	ActorReason  string                    `col:"actor_reason"`
	ActorKey     string                    `col:"actor_key"`
	ActorSession string                    `col:"actor_session"`
	Correlation  string                    `col:"correlation"`
	Causation    string                    `col:"causation"`
	EventID      string                    `col:"event_id"`
	Stream       string                    `col:"stream"`
	Revision     int64                     `col:"revision"`
	Personal     []readmodel.PersonalField `col:"personal"`
}

func (r entryRow) position() string { return position{r.Commit, r.Prepare}.String() }

var selectEntries = `select ` + readmodel.Columns[entryRow](readmodel.AuditView, "") + ` from ` + readmodel.AuditView.SQL() + ` where `

// query returns the query of a page. Its text is one of few, by which filters there are. Of session, account, operator
// and kind, the first that is given chooses the index, which is in the order of the page. The others are written so
// that no index fits them, and that the planner takes them for frequent: it does not know how much one account has, and
// might read most of an index for a page, or sort a page out of all entries.
func (f filter) query() (sql string, arguments []any) {
	argument := func(value any) string {
		arguments = append(arguments, value)
		return "$" + strconv.Itoa(len(arguments))
	}
	conditions, chosen := []string{`actor_name > ''`}, false
	if f.area != readmodel.AuditOperators {
		conditions[0] = `area = ` + argument(f.area)
	}
	equals := func(column, value string) {
		condition := column + ` = ` + value
		if chosen {
			condition = `case when ` + condition + ` then true else false end`
		}
		conditions, chosen = append(conditions, condition), true
	}
	if f.session != "" {
		equals("session_id", argument(f.session))
	}
	switch len(f.accounts) {
	case 0:
	case 1:
		equals("account_id", argument(f.accounts[0]))
	default: // the few of one person, which are sorted
		equals("account_id", `any(`+argument(f.accounts)+`)`)
	}
	if f.operator != "" {
		equals("actor_name", argument(f.operator))
	}
	if f.kind != "" {
		equals("kind", argument(f.kind))
	}
	if f.from != nil {
		conditions = append(conditions, `at >= `+argument(*f.from))
	}
	if f.to != nil {
		conditions = append(conditions, `at < `+argument(*f.to))
	}
	if f.after != (place{}) {
		conditions = append(conditions,
			`(at, log_commit, log_prepare) > (`+argument(time.UnixMicro(f.after.at).UTC())+`, `+argument(f.after.commit)+`, `+argument(f.after.prepare)+`)`,
			`(log_commit, log_prepare) <= (`+argument(f.after.until.commit)+`, `+argument(f.after.until.prepare)+`)`)
	}
	return selectEntries + strings.Join(conditions, " and ") + ` order by at, log_commit, log_prepare limit ` + argument(int64(f.limit)+1), arguments
}

// page is a page of entries.
type page struct {
	rows     []entryRow
	next     *string // token of the next page
	position string  // up to which all pages together are complete
}

// page reads a page, and one entry more, which says that there is another page.
func (a *API) page(call *web.Call, f filter) (page, error) {
	if f.nobody {
		f.accounts, f.limit = []string{""}, 0
	}
	sql, arguments := f.query()
	var rows []entryRow
	read, err := readapi.Select(call, a.Models, []readmodel.Model{readmodel.Audit}, readapi.Query{SQL: sql, Arguments: arguments, Doing: "reading audit entries"},
		func(row pgx.CollectableRow) error {
			one, err := pgx.RowToStructByPos[entryRow](row)
			rows = append(rows, one)
			return err
		})
	if err != nil {
		return page{}, err
	}
	until := f.after.until
	if f.after == (place{}) {
		if until, err = parsePosition(read); err != nil {
			return page{}, fmt.Errorf("reading audit entries: the position %q: %w", read, err)
		}
	}
	p := page{rows: rows, position: until.String()}
	if len(rows) > f.limit {
		p.rows = rows[:f.limit]
		last := p.rows[f.limit-1]
		p.next = new(place{last.At.UnixMicro(), position{last.Commit, last.Prepare}, until}.String())
	}
	return p, nil
}
