package main_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// longest returns a request for the most audio from the given number of characters: the engine speaks old letters by
// their long names.
func longest(characters int) order {
	return order{"text": strings.Repeat("Ϡ", characters), "voice": "leah", "speed": 0.25, "format": "pcm_f32le"}
}

// Requests of a free account once exhausted recitald's memory: 5,000 characters resulted in a reply of 568 MB.
func TestLargeRepliesToSlowReadersLeaveRecitaldAlive(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a machine with 2 GiB, and clients that do not read their streams
	cgroup := newMemoryCgroup(t, 2<<30)
	s := prepare(t, dataFolder(t))
	s.cgroup = cgroup
	s.launch([]string{"--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--data-dir=" + s.data})
	t.Cleanup(s.kill)
	s.readWelcome()
	slow := s.openAccount("indie")
	for range 3 {
		unread(t, slow, bytesRoute, longest(5000))
	}

	// when a free account requests a reply that is too large, then it is refused
	c := s.openAccount("free")
	for _, refused := range together(t, c, 1, 5000) {
		require.Equal(t, 422, refused.StatusCode)
	}
	require.Zero(t, c.usage(t))

	// when it requests the largest permitted replies and does not read them, then each is served
	for _, whole := range together(t, c, 3, 3200) {
		require.Equal(t, 200, whole.StatusCode)
		require.Greater(t, whole.ContentLength, int64(200<<20))
	}

	// and other accounts are served, and no process was killed
	_, err := s.operator().speak(1000)
	require.NoError(t, err)
	require.EqualValues(t, 3*3200, c.usage(t))
	require.Zero(t, cgroup.kills(t))
	require.False(t, s.hasEnded())
	t.Log("the most memory, with what was cached:", cgroup.most(t))
}

// together makes concurrent requests and reads only the heads of the replies. It repeats requests that are not answered
// within a minute, because the machine is slow.
func together(t *testing.T, c customer, requests, characters int) []*http.Response {
	t.Helper()
	replies := make([]*http.Response, requests)
	var group sync.WaitGroup
	for i := range replies {
		group.Go(func() {
			for ok := true; ok; ok = replies[i] != nil && replies[i].StatusCode == http.StatusGatewayTimeout {
				replies[i] = unread(t, c, detailedRoute, longest(characters))
			}
		})
	}
	group.Wait()
	require.NotContains(t, replies, (*http.Response)(nil))
	return replies
}

// unread returns a reply after reading only its head, or nil.
func unread(t *testing.T, c customer, route string, o order) *http.Response {
	client := slowly()
	response, err := client.Do(c.request(http.MethodPost, route, o.encode()).WithContext(t.Context()))
	if !assert.NoError(t, err) {
		return nil
	}
	t.Cleanup(func() {
		_ = response.Body.Close()
		client.CloseIdleConnections()
	})
	return response
}
