package app

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
)

// standing is a projector that does not advance.
type standing struct{ at eventlog.Position }

func (s standing) Reached(...readmodel.Model) eventlog.Position { return s.at }

func (s standing) Wait(ctx context.Context, position eventlog.Position, _ ...readmodel.Model) error {
	if position.Compare(s.at) <= 0 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestPositions(t *testing.T) {
	log, err := esdb.Open(esdb.Config{Socket: nodetest.Start(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	write := func() eventlog.Position {
		event := eventlog.Proposed{ID: uuid.New(), Type: "tested", Data: []byte("{}"), Metadata: []byte("{}")}
		appended, err := log.Append(t.Context(), "tests-"+uuid.NewString(), eventlog.NoStream, []eventlog.Proposed{event})
		require.NoError(t, err)
		return appended.Position
	}
	first, head := write(), write()
	past := eventlog.Position{Commit: head.Commit + 1, Prepare: head.Prepare + 1}

	for _, c := range []struct {
		name    string
		reached eventlog.Position
		text    string
		want    error
	}{
		{"a reply's position, projected", head, first.String(), nil},
		{"the head, projected", head, head.String(), nil},
		{"the head, not projected yet", first, head.String(), context.Canceled},
		{"past the head", head, past.String(), web.ErrBadPosition},
		{"past the head of a projector that is behind", first, past.String(), web.ErrBadPosition},
		{"the largest number", head, "18446744073709551615/18446744073709551615", web.ErrBadPosition},
		{"larger than that", head, "18446744073709551616/0", web.ErrBadPosition},
		{"one number", head, "12", web.ErrBadPosition},
		{"a negative number", head, "-1/-1", web.ErrBadPosition},
		{"words", head, "the end", web.ErrBadPosition},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			projector := standing{c.reached}
			if errors.Is(c.want, context.Canceled) {
				// The client disconnects only during the wait for the projector, so that reading the head does not fail first.
				_, err := log.Head(ctx)
				require.NoError(t, err)
				err = positions{log: log, projector: impatient{projector, cancel}}.Wait(ctx, c.text, nil)
				require.ErrorIs(t, err, c.want)
				return
			}
			err := positions{log: log, projector: projector}.Wait(ctx, c.text, nil)
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
		})
	}
	t.Run("a projected position needs no log", func(t *testing.T) {
		require.NoError(t, positions{log: nil, projector: standing{head}}.Wait(t.Context(), first.String(), nil))
	})
	t.Run("an unavailable log is not reported as a bad position", func(t *testing.T) {
		closed, err := esdb.Open(esdb.Config{Socket: nodetest.Start(t)})
		require.NoError(t, err)
		require.NoError(t, closed.Close())
		err = positions{log: closed, projector: standing{first}}.Wait(t.Context(), head.String(), nil)
		require.Error(t, err)
		assert.NotErrorIs(t, err, web.ErrBadPosition)
		assert.Equal(t, domain.Unavailable, domain.CodeOf(err))
	})
}

// impatient is a projector with a client that disconnects during the wait.
type impatient struct {
	standing
	leave context.CancelFunc
}

func (i impatient) Wait(ctx context.Context, position eventlog.Position, models ...readmodel.Model) error {
	i.leave()
	return i.standing.Wait(ctx, position, models...)
}

func TestReadsDoNotWaitForAnUnavailablePostgres(t *testing.T) {
	t.Parallel()
	position := eventlog.Position{Commit: 1, Prepare: 1}
	var ready readiness
	reads := promptReads{standing{position}, &ready}
	require.ErrorIs(t, reads.Wait(t.Context(), position), feed.ErrBehind, "Postgres has never answered")
	ready.postgresAnswered()
	require.NoError(t, reads.Wait(t.Context(), position))
	ready.behind.Store(true)
	require.ErrorIs(t, reads.Wait(t.Context(), position), feed.ErrBehind)
}
