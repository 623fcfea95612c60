package noticestest

import (
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// MailSession handles one connection to a mail server. It implements smtp.Session.
type MailSession struct {
	*Server
	to []string
}

// Reset implements smtp.Session.
func (*MailSession) Reset() {}

// Logout implements smtp.Session.
func (*MailSession) Logout() error { return nil }

// Mail implements smtp.Session.
func (*MailSession) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt implements smtp.Session, with the server's Behaviour.
func (s *MailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	switch s.Now() {
	case Refuses:
		return &smtp.SMTPError{Code: 550, Message: "no such user: " + to}
	case Delays:
		return &smtp.SMTPError{Code: 451, Message: "greylisted: " + to}
	}
	return nil
}

// Data implements smtp.Session. It records the message.
func (s *MailSession) Data(r io.Reader) error {
	message, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	var decoder mime.WordDecoder
	subject, _ := decoder.DecodeHeader(message.Header.Get("Subject"))
	body, err := io.ReadAll(quotedprintable.NewReader(message.Body))
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(strings.Trim(message.Header.Get("Message-Id"), "<>"), "@")
	s.Take(Received{ID: id, To: strings.Join(s.to, ","), Subject: subject,
		Body: strings.ReplaceAll(string(body), "\r\n", "\n"), Headers: len(message.Header)})
	return nil
}

// ServeMail starts a real mail server until the test ends, and returns its URL.
func ServeMail(t testing.TB, open func() smtp.Session) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return open(), nil }))
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close() })
	return "smtp://" + listener.Addr().String()
}
