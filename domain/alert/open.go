package alert

import "time"

// Open is an alert that was not cleared.
type Open struct {
	Condition
	Alert   string // "" while the log does not have it yet
	Since   time.Time
	Lasting bool // it is that of a condition, which clears it by itself
}
