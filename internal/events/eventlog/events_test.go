package eventlog_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/process/release"
)

func TestEventsStayReadable(t *testing.T) {
	eventtest.Golden(t, []eventlog.Type{eventlog.LogOpenedType()}, eventtest.Example{
		Name: "log-opened", Version: 1,
		Event: eventlog.LogOpened{LogID: uuid.MustParse("0190b0c0-1111-7000-8000-00000000000a"), Epoch: 3,
			Format: release.Format},
	})
}

// Events are never written into a log of an unreleased build, whose identity has no format.
func TestALogOfAnUnreleasedBuildIsRefused(t *testing.T) {
	registry, err := eventlog.NewRegistry(eventlog.LogOpenedType())
	require.NoError(t, err)
	for format, refused := range map[string]string{"": "comes from an unreleased build",
		"recital 2": `has the format "recital 2"`} {
		log := memlog.New()
		meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
		opened, err := registry.Encode(uuid.New(), 0, meta, eventlog.LogOpened{LogID: uuid.New(), Epoch: 1, Format: format})
		require.NoError(t, err)
		appended, err := log.Append(t.Context(), eventlog.IdentityStream, eventlog.NoStream, opened)
		require.NoError(t, err)

		_, err = eventlog.Identify(t.Context(), log, registry, uuid.New(), time.Now())
		require.ErrorContains(t, err, refused)
		head, err := log.Head(t.Context())
		require.NoError(t, err)
		require.Equal(t, appended.Position, head)
	}
}
