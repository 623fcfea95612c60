package ledger

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/recital-tts/recital/domain/ledger"
)

// watchedPeriods bounds the memory of sightings, in periods with open reservations.
const watchedPeriods = 50_000

// sightings holds the time at which this instance first saw each open reservation, by a monotonic clock. A reply is
// settled before another instance can have seen its reservation for its whole lifetime, even if the wall clocks of the
// two differ. Dropping a sighting only delays the expiry.
type sightings struct {
	elapsed func() time.Duration
	periods *lru.Cache[string, map[string]time.Duration] // by stream, then by reservation; the maps are not changed
}

func newSightings() *sightings {
	periods, _ := lru.New[string, map[string]time.Duration](watchedPeriods) // fails for a size below 1
	begun := time.Now()
	return &sightings{elapsed: func() time.Duration { return time.Since(begun) }, periods: periods}
}

// note adds the open reservations of a period, drops the others, and returns when each was first seen.
func (s *sightings) note(stream string, open []ledger.Reservation) map[string]time.Duration {
	if len(open) == 0 {
		s.periods.Remove(stream)
		return nil
	}
	before := s.of(stream)
	now, seen := s.elapsed(), make(map[string]time.Duration, len(open))
	for _, r := range open {
		first, known := before[r.ID]
		if !known {
			first = now
		}
		seen[r.ID] = first
	}
	s.periods.Add(stream, seen)
	return seen
}

// of returns when each open reservation of a period was first seen, if known.
func (s *sightings) of(stream string) map[string]time.Duration {
	seen, _ := s.periods.Get(stream)
	return seen
}
