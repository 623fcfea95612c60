// Package progress displays a running rebuild: as bars on a terminal, as lines elsewhere, and as JSON for programs.
package progress

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// window is the length of the sliding window: long enough to be steady, short enough to follow changes.
const window = 10 * time.Second

// Pace estimates the speed of building a generation over a sliding window.
type Pace struct {
	seen []sighting
}

type sighting struct {
	at     time.Time
	events int64
	share  float64
}

// See records the number of events that were read until at, and their share of the log (0 to 1).
func (p *Pace) See(at time.Time, events int64, share float64) {
	if n := len(p.seen); n > 0 && events < p.seen[n-1].events {
		p.seen = nil // the build was restarted
	}
	p.seen = append(p.seen, sighting{at, events, share})
	for len(p.seen) > 2 && at.Sub(p.seen[1].at) >= window {
		p.seen = p.seen[1:]
	}
}

// Rate returns the events per second, or 0 while it is unknown.
func (p *Pace) Rate() float64 {
	first, last, ok := p.span()
	if !ok {
		return 0
	}
	return float64(last.events-first.events) / last.at.Sub(first.at).Seconds()
}

// Left returns the estimated time until the end of the log, based on the window.
func (p *Pace) Left() (left time.Duration, known bool) {
	first, last, ok := p.span()
	if !ok || last.share <= first.share {
		return 0, last.share >= 1
	}
	seconds := (1 - last.share) / (last.share - first.share) * last.at.Sub(first.at).Seconds()
	if seconds > longestForecast.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// longestForecast is the limit of useful forecasts.
const longestForecast = 100 * 24 * time.Hour

func (p *Pace) span() (first, last sighting, ok bool) {
	if len(p.seen) == 0 {
		return first, last, false
	}
	first, last = p.seen[0], p.seen[len(p.seen)-1]
	return first, last, last.at.After(first.at)
}

// Percent formats a share. It rounds down, so that 100 % means complete.
func Percent(share float64) string {
	return strconv.Itoa(int(math.Floor(max(0, min(share, 1))*100))) + " %"
}

// Count formats a number with separators: 1,234,567.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return sign + strings.Join(append([]string{digits}, groups...), ",")
}

// Span formats a duration for people.
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return max(d.Round(time.Millisecond), time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
