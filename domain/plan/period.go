package plan

import "time"

// MonthlyPeriod returns the current one of the monthly periods that count from a start. They begin at the start's day
// and time of day (UTC), or on a month's last day if the month has no such day.
func MonthlyPeriod(start, now time.Time) (begin, end time.Time) {
	start, now = start.UTC(), now.UTC()
	n := max(0, (now.Year()-start.Year())*12+int(now.Month())-int(start.Month()))
	if n > 0 && addMonths(start, n).After(now) {
		n--
	}
	return addMonths(start, n), addMonths(start, n+1)
}

func addMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}
