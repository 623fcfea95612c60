package sessions

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/session"
)

// Due reports whether Use would have an effect on a session in a state.
func (s *Sessions) Due(state session.State, shown session.Cookie, keepsOld bool) bool {
	return state.Due(shown.Hash(), s.Now(), s.rotate(keepsOld))
}

func (s *Sessions) rotate(keepsOld bool) time.Duration {
	if keepsOld {
		return never
	}
	return s.Limits.Rotate
}

const never = time.Duration(math.MaxInt64)

// Use records that a session is in use. It returns the cookie that replaces the given one, or the same cookie, as
// keepsOld demands. Errors: session.ErrInvalid.
func (s *Sessions) Use(
	ctx context.Context, shown session.Cookie, keepsOld bool, origin journal.Origin,
) (session.Cookie, error) {
	next, err := shown.Renewed(s.random)
	if err != nil {
		return session.Cookie{}, err
	}
	use := session.Use{Shown: shown.Hash(), Next: next.Hash(), Rotate: s.rotate(keepsOld), At: s.Now().UTC()}
	state, _, err := journal.Execute(ctx, s.Journal, stream(shown.ID), use, origin.Metadata(uuid.New(), use.At))
	switch {
	case err != nil:
		return session.Cookie{}, err
	case state.SecretHash == use.Next:
		return next, nil
	}
	return shown, nil
}
