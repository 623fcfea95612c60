package main_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/feedback"
)

func TestFeedbackIsStoredEncrypted(t *testing.T) {
	t.Parallel()
	s := share(t)
	c := s.openAccount("free")
	give := func(form url.Values) reply {
		request := c.request(http.MethodPost, "/v1/ai/speech/feedback", strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return do(t, request)
	}

	synthesised := func(c customer) string {
		spoken := requireOK(t, c.post(t, bytesRoute, order{"text": "Hello.", "voice": "leah"}))
		return spoken.header.Get("X-Generation-Id")
	}

	// when a customer sends feedback on a synthesis
	const words = "quite-a-nasal-sound"
	id := synthesised(c)
	answer := give(url.Values{"id": {id}, "rating": {"thumbsDown"}, "text": {words}, "context": {words}})

	// then it is stored, encrypted with the account's key
	require.Equal(t, 200, answer.status, answer.text())
	require.JSONEq(t, `{"success":true}`, answer.text())
	require.NotEmpty(t, answer.header.Get("X-Recital-Position"))
	s.requireSealed(words, "feedback-given", 1)

	// and feedback on another account's synthesis is refused like feedback on an unknown one
	for _, id := range []string{synthesised(s.openAccount("free")), uuid.NewString(), "g-1"} {
		refused := give(url.Values{"id": {id}, "rating": {"thumbsDown"}, "text": {words}})
		require.Equal(t, 404, refused.status)
		require.Contains(t, refused.text(), "There is no such synthesis")
	}
	s.requireSealed(words, "feedback-given", 1)

	// and so is feedback without end, which is free and stays in the log
	for range feedback.MaxPerSynthesis - 1 {
		require.Equal(t, 200, give(url.Values{"id": {strings.ToUpper(id)}, "rating": {"thumbsUp"}}).status)
	}
	require.Equal(t, 409, give(url.Values{"id": {id}, "rating": {"thumbsUp"}}).status)

	// and meaningless feedback is refused
	for _, bad := range []url.Values{{"rating": {"thumbsUp"}}, {"id": {"g1"}}, {"id": {"g1"}, "rating": {"perhaps"}},
		{"id": {""}, "rating": {"thumbsUp"}}} {
		require.Equal(t, 422, give(bad).status, "%v", bad)
	}
}
