package main_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// atOnce runs n functions concurrently and waits for them.
func atOnce(n int, f func(i int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { f(i) })
	}
	running.Wait()
}

// tryNewKey creates a key if it is permitted.
func (c customer) tryNewKey(t *testing.T) (key customer, status int) {
	t.Helper()
	answer := do(t, c.request(http.MethodGet, "/v1/account/new_api_key", nil))
	if answer.status != http.StatusOK {
		return customer{}, answer.status
	}
	var made struct{ APIKey string }
	answer.decode(t, &made)
	return customer{server: c.server, id: c.id, key: made.APIKey}, answer.status
}

func TestLimitsHoldForConcurrentCreations(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := start(t, dataFolder(t), "--address-rate=0", "--account-rate=free=0")

	t.Run("keys", func(t *testing.T) {
		c := s.openAccount("free")
		var made atomic.Int64
		made.Add(1)
		atOnce(8, func(int) {
			for range 16 {
				if _, status := c.tryNewKey(t); status == http.StatusOK {
					made.Add(1)
				}
			}
		})
		require.EqualValues(t, 100, made.Load())
		require.Len(t, c.account(t).APIKeys, 100)
	})

	t.Run("sessions", func(t *testing.T) {
		first := s.person()
		first.signIn("crowd@example.org")
		people := make([]*person, 120)
		atOnce(len(people), func(i int) {
			people[i] = s.person()
			people[i].get(people[i].comeBack("crowd@example.org"))
		})
		live := 0
		for _, v := range append(people, first) {
			if v.get(s.address+"/auth/oauth/validate").status == http.StatusOK {
				live++
			}
		}
		require.LessOrEqual(t, live, 100)
		require.Positive(t, live)
	})

	t.Run("voices", func(t *testing.T) {
		c, recording := s.openAccount("free"), s.reference(t, "mp3", 150)
		var made, refused atomic.Int64
		try := func(int) {
			switch answer := do(t, c.upload([][]byte{recording}, "name", "Mine")); answer.status {
			case http.StatusOK:
				made.Add(1)
			case http.StatusPaymentRequired, http.StatusForbidden, http.StatusConflict:
				refused.Add(1)
			default: // the creation of voices has limited places
				require.Contains(t, []int{429, 503}, answer.status, answer.text())
			}
		}
		atOnce(12, try)
		for refused.Load() == 0 {
			try(0)
		}
		require.EqualValues(t, 5, made.Load())
		instant, _ := c.voiceUsage(t)
		require.Equal(t, 5, instant)
	})
}

// Sessions opened before all sessions are revoked are refused, even if others are opened concurrently.
func TestRevokingAllSessionsDuringSignIns(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := share(t)
	const email = "crowd@example.org"
	before := make([]*person, 8)
	atOnce(len(before), func(i int) {
		before[i] = s.person()
		before[i].signIn(email)
	})
	beside := make([]*person, 8)
	atOnce(1+len(beside), func(i int) {
		if i == 0 {
			require.Equal(t, 200, before[0].do(http.MethodPost, s.address+"/v1/account/sessions/revoke_all", nil).status)
			return
		}
		beside[i-1] = s.person()
		beside[i-1].get(beside[i-1].comeBack(email))
	})
	for _, v := range before {
		require.Equal(t, 401, v.get(s.address+"/auth/oauth/validate").status)
	}

	// and concurrent sessions are either listed or refused
	live := 0
	for _, v := range beside {
		if v.get(s.address+"/auth/oauth/validate").status == http.StatusOK {
			live++
		}
	}
	last := s.person()
	last.signIn(email)
	var listed struct{ Sessions []struct{ ID string } }
	last.get(s.address+"/v1/account/sessions").decode(t, &listed)
	require.Len(t, listed.Sessions, live+1)
}
