package billing_test

import (
	"fmt"
	"math"
	"time"
)

// tariff is a plan in the price list. Amounts are in cents, perThousand in thousandths of a cent.
type tariff struct{ price, included, perThousand int64 }

var tariffs = map[string]tariff{
	"free":    {0, 15_000, 0},
	"indie":   {1000, 200_000, 5000},
	"pro":     {4900, 1_250_000, 4500},
	"premium": {19900, 5_700_000, 3500},
}

// cost returns the price of characters past a plan: full thousands, in whole cents.
func (t tariff) cost(characters int64) int64 { return characters / 1000 * t.perThousand / 1000 }

// monthFrom returns the end of the month at t, counting months from an anchor.
func monthFrom(anchor, t time.Time) time.Time {
	for n := 1; ; n++ {
		first := time.Date(anchor.Year(), anchor.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		day := min(anchor.Day(), first.AddDate(0, 1, -1).Day())
		border := time.Date(first.Year(), first.Month(), day, anchor.Hour(), anchor.Minute(), anchor.Second(), 0, time.UTC)
		if border.After(t) {
			return border
		}
	}
}

// bought is a plan that an account has bought.
type bought struct {
	plan, next         string
	start, end, anchor time.Time
}

// line is an overage to be paid.
type line struct{ Characters, Amount int64 }

// statement is the expected bill of an account for its characters by the rules of docs/billing.md, as far as it follows
// its subscription. It shares no code with the product.
type statement struct {
	bought
	used  int64 // on the plan
	lines []line
	log   []string
}

func newStatement(opened time.Time) *statement {
	return &statement{bought: bought{plan: "free", next: "free", start: opened, end: monthFrom(opened, opened),
		anchor: opened}}
}

// reach ends the periods before a time. The next one is on the plan that follows.
func (s *statement) reach(now time.Time) {
	for !now.Before(s.end) {
		s.bill()
		if s.plan != s.next && s.next == "free" {
			s.anchor = s.end
		}
		s.plan, s.used, s.start, s.end = s.next, 0, s.end, monthFrom(s.anchor, s.end)
	}
}

// bill bills the usage past the plan. The rest continues to count.
func (s *statement) bill() {
	on := tariffs[s.plan]
	over := s.used - on.included
	if over <= 0 || on.perThousand == 0 {
		return
	}
	s.used = on.included
	if amount := on.cost(over); amount > 0 {
		s.lines = append(s.lines, line{over, amount})
	}
	s.log = append(s.log, fmt.Sprintf("billed %d on %s", over, s.plan))
}

// speak reports whether characters are permitted, and counts them.
func (s *statement) speak(characters int64, now time.Time) bool {
	s.reach(now)
	if s.plan == "free" && s.used+characters > tariffs["free"].included {
		return false
	}
	s.used += characters
	return true
}

// hear puts the account on the plan that it has bought. The terms change at this point of the ledger, unless the plan
// is the same.
func (s *statement) hear(of bought, now time.Time) {
	s.reach(now)
	s.log = append(s.log, fmt.Sprintf("%s: on %s, heard %s from %s to %s, then %s", now.Format(time.DateTime), s.plan,
		of.plan, of.start.Format(time.DateTime), of.end.Format(time.DateTime), of.next))
	if of.plan == "free" {
		s.free(of.start)
		return
	}
	starts := of.start.Unix() > s.start.Unix()
	if starts || of.plan != s.plan {
		s.bill()
	}
	if starts {
		s.used = 0
	} else {
		of.start = s.start
	}
	s.bought = of
}

// free puts the account on the free plan from a time.
func (s *statement) free(since time.Time) {
	if s.plan == "free" {
		return
	}
	s.bill()
	if since.Unix() > s.start.Unix() {
		s.used, s.start = 0, since
	}
	s.plan, s.next, s.anchor, s.end = "free", "free", s.start, monthFrom(s.start, s.start)
}

// fee is the price of a plan: an amount, or a range that depends on the second of the purchase.
type fee struct{ least, most int64 }

// upgrade returns the fee of another plan for the rest of a month, bought in a range of seconds.
func upgrade(from, to string, start, end, first, last time.Time) (f fee) {
	f = fee{math.MaxInt64, math.MinInt64}
	for at := first.Unix(); at <= last.Unix(); at++ {
		rest := min(1, max(0, float64(end.Unix()-at)/float64(end.Unix()-start.Unix())))
		share := func(plan string) int64 { return int64(math.Round(float64(tariffs[plan].price) * rest)) }
		amount := share(to) - share(from)
		f = fee{min(f.least, amount), max(f.most, amount)}
	}
	return f
}
