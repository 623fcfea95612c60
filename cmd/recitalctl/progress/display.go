package progress

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Status is how a generation stands while it is built. What a server told must be printable already.
type Status struct {
	Name       string
	Version    int
	Generation int

	State  string
	Reason string // why it is stopped
	Live   bool
	Done   bool // nothing is left to wait for
	Failed bool // nothing is left to hope for

	Position string
	Share    float64 // of the log that is behind it, 0 to 1
	Events   int64
	Rate     float64       // events a second, 0 when not known
	Left     time.Duration // negative when not known
}

// Title names the generation.
func (s Status) Title() string { return fmt.Sprintf("%s v%d g%d", s.Name, s.Version, s.Generation) }

// Display shows how generations come along.
type Display interface {
	// Show is told about all generations, again and again, always in the same order.
	Show([]Status)
	// Note says something beside it.
	Note(text string)
	// Close ends the display and leaves what it showed last.
	Close()
}

// Percent cuts down, so that 100 % is said only of the whole.
func Percent(share float64) string {
	return strconv.Itoa(int(math.Floor(max(0, min(share, 1))*100))) + " %"
}

// Count groups the digits of a number: 1,234,567.
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

// Span rounds a time to what a person wants to know of it.
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
