package smtp_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	server "github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/notices"
	"github.com/recital-tts/recital/internal/providers/notices/noticestest"
	"github.com/recital-tts/recital/internal/providers/notices/smtp"
)

const from = "Recital <notices@recital.example>"

func sender(t *testing.T, url string, timeout time.Duration) *smtp.Sender {
	t.Helper()
	s, err := smtp.New(smtp.Config{URL: url, From: from, Timeout: timeout})
	require.NoError(t, err)
	return s
}

// closed returns an address at which nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return "smtp://" + listener.Addr().String()
}

func TestContract(t *testing.T) {
	t.Parallel()
	noticestest.Run(t, func(t *testing.T, timeout time.Duration) (*noticestest.Server, notices.Sender) {
		shared := noticestest.NewServer(t)
		url := noticestest.ServeMail(t, func() server.Session { return &noticestest.MailSession{Server: shared} })
		return shared, sender(t, url, timeout)
	}, func(t *testing.T) notices.Sender { return sender(t, closed(t), time.Minute) })
}

// refusing is a server that refuses at one step.
type refusing struct {
	noticestest.MailSession
	mail, data error
}

func (r *refusing) Mail(string, *server.MailOptions) error { return r.mail }

func (r *refusing) Data(reader io.Reader) error {
	_, _ = io.Copy(io.Discard, reader)
	return r.data
}

func TestTheMeaningOfARefusalDependsOnTheStep(t *testing.T) {
	t.Parallel()
	permanent := &server.SMTPError{Code: 554, Message: "no"}
	temporary := &server.SMTPError{Code: 452, Message: "full"}
	for name, c := range map[string]struct {
		mail, data error
		want       error
	}{
		"the sender for good":                 {permanent, nil, notices.ErrUnavailable},
		"the sender for now":                  {temporary, nil, notices.ErrLater},
		"the message for good":                {nil, permanent, notices.ErrRefused},
		"the message for now":                 {nil, temporary, notices.ErrLater},
		"the message, with an internal error": {nil, errors.New("boom"), notices.ErrRefused}, // the server replies with 554
		"nothing":                             {nil, nil, nil},
	} {
		shared := noticestest.NewServer(t)
		url := noticestest.ServeMail(t, func() server.Session {
			return &refusing{MailSession: noticestest.MailSession{Server: shared}, mail: c.mail, data: c.data}
		})
		err := sender(t, url, time.Minute).Send(t.Context(),
			notices.Message{ID: "n1", To: "ada@example.com", Subject: "s", Body: "b", At: time.Now()})
		require.ErrorIs(t, err, c.want, name)
	}
}

func TestTheServerIsChecked(t *testing.T) {
	t.Parallel()
	url := noticestest.ServeMail(t, func() server.Session { return &noticestest.MailSession{} })
	require.NoError(t, sender(t, url, time.Minute).Check(t.Context()))
	require.ErrorIs(t, sender(t, closed(t), time.Minute).Check(t.Context()), notices.ErrUnavailable)

	// a server that accepts the connection without a greeting counts as unavailable
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	require.ErrorIs(t, sender(t, "smtp://"+silent.Addr().String(), 200*time.Millisecond).Check(t.Context()),
		notices.ErrUnavailable)
}

func TestWithoutTLSOnlyLoopbackIsUsed(t *testing.T) {
	t.Parallel()
	shared := noticestest.NewServer(t)
	url := noticestest.ServeMail(t, func() server.Session { return &noticestest.MailSession{Server: shared} })
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "smtp://"), ":")
	s, err := smtp.New(smtp.Config{URL: "smtp://recital.invalid:" + port, From: from,
		Dial: func(network, _ string) (net.Conn, error) {
			return net.Dial(network, strings.TrimPrefix(url, "smtp://"))
		}})
	require.NoError(t, err)
	err = s.Send(t.Context(), notices.Message{ID: "n1", To: "ada@example.com", Subject: "s", Body: "b", At: time.Now()})
	require.ErrorIs(t, err, notices.ErrUnavailable)
	require.Empty(t, shared.Received())
}

func TestMistakesInTheAddress(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "mail.example.com", "http://mail.example.com", "smtp://user:pw@mail.example.com",
		"smtp://mail.example.com/inbox"} {
		_, err := smtp.New(smtp.Config{URL: url, From: from})
		require.Error(t, err, url)
	}
	_, err := smtp.New(smtp.Config{URL: "smtp://mail.example.com", From: "nobody"})
	require.Error(t, err)
}
