package audit_test

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// happened is the test's copy of an event with an entry.
type happened struct {
	area, kind, account, session string
	by                           string // the operator who did it
	at                           time.Time
	position                     eventlog.Position
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// drawEvent draws an event and its entry, nil if it has none.
func drawEvent(r *rapid.T) (stream string, event any, at time.Time, asked *happened) {
	at = noon.Add(time.Duration(rapid.IntRange(0, 5).Draw(r, "second")) * time.Second)
	a := rapid.SampledFrom([]string{"a1", "a2", "a3"}).Draw(r, "account")
	s := rapid.SampledFrom([]string{"s1", "s2"}).Draw(r, "session")
	id := uuid.NewString() // each event has a stream of its own
	was := func(area, kind, session string) *happened {
		return &happened{area: area, kind: kind, account: a, session: session, at: at}
	}
	switch rapid.IntRange(0, 7).Draw(r, "event") {
	case 0:
		stream, event = session.Stream(id), session.Rotated{Session: s, Account: a, At: at}
		asked = was("sessions", "session-rotated", s)
	case 1:
		stream, event = session.Stream(id), session.Ended{Session: s, Account: a, Reason: session.Expired, At: at}
		asked = was("sessions", "session-ended", s)
	case 2:
		stream, event = session.Stream(id), session.Seen{Session: s, Account: a, At: at}
	case 3:
		stream, event = account.Stream(id), account.TermsAccepted{Account: a, At: at}
		asked = was("sessions", "account-terms-accepted", "")
	case 4:
		stream, event = subscription.Stream(id), subscription.Agreed{Account: a, Request: id, At: at}
		asked = was("billing", "subscription-change-agreed", "")
	case 5:
		stream, event = ledger.Stream(id, at), ledger.Closed{Account: a, Start: at, To: at, At: at}
		asked = was("billing", "usage-period-closed", "")
	case 6:
		stream, event = voice.Stream(id), voice.Deleted{Voice: id, Account: a, At: at}
		asked = was("activity", "voice-deleted", "")
	default:
		stream, event = ledger.Stream(id, at), ledger.Settled{Account: a, At: at}
	}
	return stream, event, at, asked
}

// drawFilter draws a query.
func drawFilter(r *rapid.T) (area string, query url.Values, fits func(happened) bool) {
	area, query = rapid.SampledFrom([]string{"sessions", "billing", "activity", "operators"}).Draw(r, "area"), url.Values{}
	draw := func(name string, values ...string) string {
		value := rapid.SampledFrom(append(values, "", "")).Draw(r, name)
		if value != "" {
			query.Set(name, value)
		}
		return value
	}
	ofAccount, ofSession := draw("account", "a1", "a2", "nobody"), draw("session", "s1", "s2")
	ofKind := draw("kind", "session-ended", "usage-period-closed", "account-terms-accepted", "session-seen")
	by := draw("operator", "ada")
	from, to := draw("from", "2026-11-22T12:00:02Z"), draw("to", "2026-11-22T13:00:04+01:00")
	return area, query, func(h happened) bool {
		return (h.area == area || area == "operators" && h.by != "") &&
			(ofAccount == "" || h.account == ofAccount) && (ofSession == "" || h.session == ofSession) &&
			(ofKind == "" || h.kind == ofKind) && (by == "" || h.by == by) &&
			(from == "" || !h.at.Before(noon.Add(2*time.Second))) && (to == "" || h.at.Before(noon.Add(4*time.Second)))
	}
}

// For any order of times in the log, and any events between pages, the list is a fold of the log up to the position of
// the first page, with each entry once and in order.
func TestWhatIsListedIsAFoldOfTheLog(t *testing.T) {
	d := newServer(t)
	var log []happened
	write := func(r *rapid.T) {
		stream, event, at, asked := drawEvent(r)
		actor := eventlog.Actor{Kind: eventlog.ActorSystem}
		if by := rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(r, "by"); by != "" {
			actor = eventlog.Actor{Kind: eventlog.ActorOperator, Name: by}
		}
		position := d.writeAs(r, actor, stream, eventlog.NoStream, at, event)
		if asked != nil {
			asked.position, asked.by = position, actor.Name
			log = append(log, *asked)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		for range rapid.IntRange(0, 6).Draw(r, "events") {
			write(r)
		}
		area, query, fits := drawFilter(r)
		query.Set("limit", fmt.Sprint(rapid.IntRange(1, 7).Draw(r, "limit")))
		var got []happened
		var until string
		for {
			page := d.list(r, auditor, area, query)
			for _, e := range page.Entries {
				position, err := eventlog.ParsePosition(e.Position)
				require.NoError(r, err)
				got = append(got, happened{area, e.Kind, e.Account, e.Session, e.Actor.Name, e.At, position})
			}
			until = page.Position
			if page.Next == "" {
				break
			}
			query.Set("page_token", page.Next)
			if rapid.Bool().Draw(r, "arrives") {
				write(r)
			}
		}
		last, err := eventlog.ParsePosition(until)
		require.NoError(r, err)
		want := slices.DeleteFunc(slices.Clone(log), func(h happened) bool {
			return !fits(h) || h.position.Compare(last) > 0
		})
		slices.SortFunc(want, func(a, b happened) int { return cmp.Or(a.at.Compare(b.at), a.position.Compare(b.position)) })
		require.Equal(r, len(want), len(got))
		for i := range want {
			if area == "operators" { // entries of all areas
				want[i].area = area
			}
			require.Equal(r, want[i], got[i])
		}
	})
}
