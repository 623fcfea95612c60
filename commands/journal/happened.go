package journal

import (
	"context"
	"fmt"
)

// Happened reports whether an event that happens at most once is in a stream, by its type in the log alone, so that an event
// that cannot be decoded does not stand in the way. It reads backwards to a snapshot that can be decoded, whose answer inSnapshot
// returns.
func Happened[E any](ctx context.Context, j *Journal, stream string, once E, inSnapshot func(E) (happened, is bool)) (bool, error) {
	name := j.Registry.NameOf(once)
	for recorded, err := range j.Log.ReadStreamBackwards(ctx, stream) {
		if err != nil {
			return false, fmt.Errorf("reading %s backwards: %w", stream, err)
		}
		if recorded.Type == name {
			return true, nil
		}
		event, err := decode[E](j.Registry, recorded)
		if err != nil {
			continue
		}
		if happened, is := inSnapshot(event); is {
			return happened, nil
		}
	}
	return false, nil
}
