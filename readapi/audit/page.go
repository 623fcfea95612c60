package audit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// filter selects a page.
type filter struct {
	area     string
	accounts []string // none: all
	none     bool     // no account fits
	session  string
	kind     string
	operator string // name
	from, to *time.Time
	limit    int
	after    place
}

// place is the start of a page: after an entry, among the entries up to a position in the log. Together, all pages show
// the log at the time of the first one, even if an event with an earlier time arrives later. The zero place is the
// beginning.
type place struct {
	at int64 // Unix microseconds
	position
	until position
}

type position struct{ commit, prepare int64 }

func positionOf(r readmodel.AuditRow) position { return position{int64(r.Commit), int64(r.Prepare)} }

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
	return base64.RawURLEncoding.EncodeToString(
		fmt.Appendf(nil, "%d.%d.%d.%d.%d", p.at, p.commit, p.prepare, p.until.commit, p.until.prepare))
}

// UnmarshalText reads a token; "" is the beginning.
func (p *place) UnmarshalText(token []byte) error {
	if len(token) == 0 {
		return nil
	}
	wrong := errors.New("it is not a token from a reply")
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
	if year := time.UnixMicro(p.at).UTC().Year(); year < 1 || year > 9999 { // the range of the log's times
		return wrong
	}
	return nil
}

// query returns the query of a page. It has few different texts. The first given filter of session, account, operator
// and kind chooses the index, which has the order of the page. The others are written so that no index fits them, and
// so that the planner expects many matches. It does not know the number of an account's entries, and might otherwise
// read most of an index for a page, or sort all entries.
func (f filter) query() (query readapi.Rows[readmodel.AuditRow], arguments []any) {
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
	default: // a person's few accounts; the entries are sorted
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
		at, until := time.UnixMicro(f.after.at).UTC(), f.after.until
		conditions = append(conditions,
			`(at, log_commit, log_prepare) > (`+argument(at)+`, `+argument(f.after.commit)+`, `+argument(f.after.prepare)+`)`,
			`(log_commit, log_prepare) <= (`+argument(until.commit)+`, `+argument(until.prepare)+`)`)
	}
	rest := `where ` + strings.Join(conditions, " and ") + `
		order by at, log_commit, log_prepare limit ` + argument(f.limit+1)
	return readapi.From(readmodel.AuditView, rest, "reading audit entries"), arguments
}

// page is a page of entries.
type page struct {
	rows     []readmodel.AuditRow
	next     *string // token of the next page
	position string  // of the log, up to which all pages together are complete
}

// page reads a page. It reads one entry more, which shows whether there is another page.
func (a *API) page(call *web.Call, f filter) (page, error) {
	if f.none {
		f.accounts, f.limit = []string{""}, 0
	}
	query, arguments := f.query()
	rows, read, err := query.Select(call, a.Models, arguments...)
	if err != nil {
		return page{}, err
	}
	until := f.after.until
	if f.after == (place{}) {
		if until, err = parsePosition(read); err != nil {
			return page{}, fmt.Errorf("reading audit entries: the position %q: %w", read, err)
		}
	}
	rows, last := readapi.Cut(rows, f.limit)
	p := page{rows: rows, position: until.String()}
	if last != nil {
		p.next = new(place{last.At.UnixMicro(), positionOf(*last), until}.String())
	}
	return p, nil
}
