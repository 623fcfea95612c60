package main_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReplyWaitsUntilItsUsageIsVisible(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t))
	c := s.openAccount("free")
	text := order{"text": prose(100), "voice": "leah"}

	// given read models that can be read but not written
	unlock := lockUsage(t, s.postgresURL())

	// when speech is synthesised, then the reply reports that the account does not show it yet
	late := requireOK(t, once(t, c.request(http.MethodPost, detailedRoute, text.encode())))
	require.Equal(t, "true", late.header.Get("X-Recital-Stale"))
	require.Zero(t, c.usage(t))

	// when they can be written again, then a request with the reply's position shows it
	unlock()
	require.EqualValues(t, 100, c.usage(t, "X-Recital-Min-Position", late.header.Get("X-Recital-Position")))

	// and replies wait for it again
	used := int64(100)
	s.eventually(func() bool {
		used += 100
		prompt := once(t, c.request(http.MethodPost, detailedRoute, text.encode()))
		return prompt.status == 200 && prompt.header.Get("X-Recital-Stale") == ""
	})
	require.Equal(t, used, c.usage(t))
}
