package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/chain"
)

// The chain has the events of all of Recital's streams. A release with new streams adds a version of the list.
func TestTheChainHasTheStreamsOfEverySlice(t *testing.T) {
	registry, err := app.Registry()
	require.NoError(t, err)
	require.Equal(t, registry.Streams(), chain.Streams(chain.Newest))
}
