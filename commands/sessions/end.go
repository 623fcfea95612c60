package sessions

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

// ExpiryProcess is the name of the to-do list of expired sessions.
const ExpiryProcess = "expire_sessions"

// End ends a session of an account. The id may be any text from a client. Errors: domain.NotFound if it is not, or no
// longer, a session of the account.
func (s *Sessions) End(ctx context.Context, account, id string, origin journal.Origin) (eventlog.Position, error) {
	if !session.ValidID(id) {
		return eventlog.Position{}, domain.Refuse(domain.NotFound, "There is no such session")
	}
	end := session.End{Account: account, Reason: session.Revoked, At: s.Now().UTC()}
	if origin.Actor.Session == id {
		end.Reason = session.SignedOut
	}
	_, position, err := journal.Execute(ctx, s.Journal, stream(id), end, origin.Metadata(uuid.New(), end.At))
	return position, err
}

// EndShown signs out the browser with a cookie: its session ends, whoever the caller is. The position is zero if there
// is no live session.
func (s *Sessions) EndShown(ctx context.Context, cookie string, origin journal.Origin) (eventlog.Position, error) {
	shown, ok := session.ParseCookie(cookie)
	if !ok {
		return eventlog.Position{}, nil
	}
	state, _, err := s.State(ctx, shown.ID)
	if err != nil || !state.Admits(shown.Hash(), s.Now()) {
		return eventlog.Position{}, err
	}
	origin.Actor = eventlog.Actor{Kind: eventlog.ActorAccount, Account: state.Account, Session: shown.ID}
	position, err := s.End(ctx, state.Account, shown.ID, origin)
	if domain.CodeOf(err) == domain.NotFound { // it has ended in the meantime
		return eventlog.Position{}, nil
	}
	return position, err
}

// EndReplayed ends a session after one of its replaced secrets was used later than its overlap.
func (s *Sessions) EndReplayed(ctx context.Context, account, id string) error {
	return s.endAs(ctx, account, id, session.Replayed)
}

// Expire ends the session of a stream if it has expired. The cause is the event that opened it.
func (s *Sessions) Expire(ctx context.Context, stream string, opened uuid.UUID) (eventlog.Position, error) {
	at := s.Now().UTC()
	command := todo.CommandID(ExpiryProcess, stream, opened)
	_, position, err := journal.Execute(ctx, s.Journal, streamOf(stream), session.Expire{At: at},
		journal.CausedBy(opened).Metadata(command, at))
	return position, err
}

func streamOf(name string) journal.Stream[session.State, session.Event] {
	return stream(strings.TrimPrefix(name, session.StreamPrefix))
}
