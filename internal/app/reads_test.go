package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestANamedClipIsNeverReportedMissing(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given read models that do not advance
	c := newCluster(t)
	one := c.open(c.shared)
	one.awaitReady(t)
	pool, err := postgres.NewPool(t.Context(), c.shared.Postgres, "")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	lock, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = lock.Rollback(context.Background()) }) // if the test has failed before
	_, err = lock.Exec(t.Context(), "lock table rm_clips_v3_g1.clips in exclusive mode")
	require.NoError(t, err)

	// when a reply names a clip
	saved := one.ask(t, http.MethodPost, "/v1/ai/speech", `{"text":"Hello.","voice":"leah","debug":true}`)
	require.Equal(t, http.StatusOK, saved.StatusCode)
	clip := "/v1/account/clip/" + saved.Header.Get("x-clip-id")

	// then a read of it reports that it may not be visible yet
	early, late := once(t, one.asked(t, http.MethodGet, clip, ""))
	require.True(t, late)
	require.Equal(t, http.StatusServiceUnavailable, early.StatusCode)
	require.NotEmpty(t, early.Header.Get("Retry-After"))

	// when they advance again, then the clip is visible at a position that is not before the reply's
	require.NoError(t, lock.Rollback(t.Context()))
	var found *http.Response
	require.Eventually(t, func() bool {
		found = one.ask(t, http.MethodGet, clip, "")
		require.NotEqual(t, http.StatusNotFound, found.StatusCode)
		return found.StatusCode == http.StatusOK
	}, patience, pause)
	written, err := eventlog.ParsePosition(saved.Header.Get("x-recital-position"))
	require.NoError(t, err)
	shown, err := eventlog.ParsePosition(found.Header.Get("x-recital-position"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, shown.Compare(written), 0)

	// and an unknown clip returns 404
	unknown := one.ask(t, http.MethodGet, "/v1/account/clip/"+strings.Repeat("0", 32), "")
	require.Equal(t, http.StatusNotFound, unknown.StatusCode)
}
