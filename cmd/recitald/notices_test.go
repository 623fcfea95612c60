package main_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/notices/noticestest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// The owner of a new API key gets a notice. In mode dev it is kept in the outbox.
func TestTheOwnerGetsANoticeOfANewKey(t *testing.T) {
	t.Parallel()
	s := share(t)
	v := s.person()
	v.signIn("notified@example.com")
	require.Equal(t, 200, v.get(s.address+"/v1/account/new_api_key").status)
	type notice struct{ Kind, To, Subject string }
	var outbox struct{ Notices []notice }
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal(s.recitalctl("outbox", "--format", "json"), &outbox))
		return slices.Contains(outbox.Notices, notice{"api-key", "notified@example.com", "A new API key was created"})
	}, patience, pause)
}

// With a mail server the notice is sent by mail once, even if recitald is killed meanwhile.
func TestTheNoticeOfANewKeyIsMailed(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	mails, data := noticestest.NewServer(t), dataFolder(t)
	url := noticestest.ServeMail(t, func() smtp.Session { return &noticestest.MailSession{Server: mails} })
	flags := []string{"--smtp-server=" + url, "--notices-from=Recital <notices@recital.example>",
		"--notices-operators=operators@recital.example"}
	s := start(t, data, flags...)
	v := s.person()
	v.signIn("ada@example.com")
	mails.Behave(noticestest.Delays)
	require.Equal(t, 200, v.get(s.address+"/v1/account/new_api_key").status)
	s.kill()
	mails.Behave(noticestest.Takes)
	s = start(t, data, flags...)
	require.Eventually(t, func() bool { return len(mails.Received()) > 0 }, patience, pause)
	s.interrupt()
	s.awaitEnd()
	all := mails.Received()
	require.Len(t, all, 1)
	require.Equal(t, "ada@example.com", all[0].To)
	require.Equal(t, "A new API key was created", all[0].Subject)
}
