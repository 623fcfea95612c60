package web

import (
	"errors"
	"time"
)

// Instant is a time that an input holds, as 2026-11-22T15:04:05Z, in UTC.
type Instant time.Time

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Instant) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || t.Year() < 1 {
		return errors.New("a time looks like 2026-11-22T15:04:05Z")
	}
	*i = Instant(t.UTC())
	return nil
}
