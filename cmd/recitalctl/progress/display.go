package progress

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Status is the state of a generation while it is built. Text from a server must already be printable.
type Status struct {
	Name       string
	Version    int
	Generation int

	State  string
	Reason string // why it has stopped
	Live   bool
	Done   bool // nothing is left to wait for
	Failed bool // it cannot succeed any more

	Position string
	Share    float64 // of the log that has been read, 0 to 1
	Events   int64
	Rate     float64       // events per second, 0 if unknown
	Left     time.Duration // negative if unknown
}

// Title returns the name of the generation.
func (s Status) Title() string { return fmt.Sprintf("%s v%d g%d", s.Name, s.Version, s.Generation) }

// Display displays the progress of generations.
type Display interface {
	// Show is called with all generations, repeatedly, always in the same order.
	Show([]Status)
	// Note displays a message.
	Note(text string)
	// Close ends the display and leaves its last state on the screen.
	Close()
}

// Percent rounds down, so that 100 % means complete.
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

// Span rounds a duration for people.
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
