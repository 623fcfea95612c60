package main_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A person who signs in and makes an API key is told so. Mode dev keeps the notice.
func TestANewKeyIsToldToItsOwner(t *testing.T) {
	t.Parallel()
	s := start(t, dataFolder(t))
	v := s.person()
	v.signIn("ada@example.com")
	require.Equal(t, 200, v.get(s.address+"/v1/account/new_api_key").status)
	var outbox struct {
		Notices []struct{ Kind, To, Subject, Account string }
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		require.NoError(c, json.Unmarshal(s.recitalctl("outbox", "--format", "json"), &outbox))
		require.NotEmpty(c, outbox.Notices)
	}, time.Minute, 100*time.Millisecond)
	require.Len(t, outbox.Notices, 1)
	require.Equal(t, "ada@example.com", outbox.Notices[0].To)
	require.Equal(t, "api-key", outbox.Notices[0].Kind)
	require.Equal(t, "A new API key was created", outbox.Notices[0].Subject)
}
