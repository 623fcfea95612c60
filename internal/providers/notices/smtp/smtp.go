// Package smtp sends notices through a mail server.
package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/recital-tts/recital/internal/providers/notices"
)

// Config configures a Sender. User, Dial and Timeout are optional.
type Config struct {
	URL      string // smtp://HOST[:587] (STARTTLS) or smtps://HOST[:465] (TLS from the start)
	From     string
	User     string
	Password string
	Timeout  time.Duration // of one call; notices.Timeout
	Dial     func(network, address string) (net.Conn, error)
}

// Sender implements notices.Sender.
type Sender struct {
	conf     Config
	host     string
	port     int
	implicit bool // TLS from the start
	plain    bool // the server is on this machine, where STARTTLS is not required
	from     *mail.Address
}

// New returns a sender, or an error if the address of the server or of the sender is invalid.
func New(conf Config) (*Sender, error) {
	u, err := url.Parse(conf.URL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("a mail server is smtp://HOST, smtp://HOST:PORT or the same with smtps")
	}
	from, err := mail.ParseAddress(conf.From)
	if err != nil {
		return nil, errors.New("the sender of notices is no e-mail address")
	}
	standard := map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	port, err := strconv.Atoi(cmp.Or(u.Port(), standard))
	if err != nil {
		return nil, fmt.Errorf("the port of the mail server: %w", err)
	}
	conf.Timeout = cmp.Or(conf.Timeout, notices.Timeout)
	return &Sender{
		conf: conf, host: u.Hostname(), port: port, implicit: u.Scheme == "smtps", plain: isLoopback(u.Hostname()),
		from: from,
	}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Send implements notices.Sender. A 5xx reply to the recipient or to the message is permanent. One to the sender, or to
// the credentials, is a fault of the configuration and concerns every notice.
func (s *Sender) Send(ctx context.Context, m notices.Message) error {
	message, err := s.compose(m)
	if err != nil {
		return err
	}
	return s.connected(ctx, func(client *gomail.Client, connection *smtp.Client) error {
		return kindOf(client.SendWithSMTPClient(connection, message), message.IsDelivered())
	})
}

// Check returns an error if the server does not answer, or refuses the credentials.
func (s *Sender) Check(ctx context.Context) error {
	return s.connected(ctx, func(*gomail.Client, *smtp.Client) error { return nil })
}

// compose returns the message. It refuses an invalid address, which may come from an identity provider.
func (s *Sender) compose(m notices.Message) (*gomail.Msg, error) {
	to, err := mail.ParseAddress(m.To)
	if err != nil || strings.ContainsAny(m.To, "\r\n") {
		return nil, notices.ErrRefused
	}
	message := gomail.NewMsg()
	message.FromMailAddress(s.from)
	message.ToMailAddress(&mail.Address{Address: to.Address})
	message.Subject(strings.NewReplacer("\r", " ", "\n", " ").Replace(m.Subject))
	message.SetDateWithValue(m.At)
	_, domain, _ := strings.Cut(s.from.Address, "@")
	message.SetMessageIDWithValue(m.ID + "@" + domain)
	message.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: prevents vacation replies
	message.SetBodyString(gomail.TypeTextPlain, m.Body)
	return message, nil
}

// connected calls do with a connection to the server, which the end of ctx closes.
func (s *Sender) connected(ctx context.Context, do func(*gomail.Client, *smtp.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.conf.Timeout)
	defer cancel()
	var dialled net.Conn
	client, err := gomail.NewClient(s.host, s.options(func(ctx context.Context, network, address string) (_ net.Conn,
		err error) {
		dialled, err = s.dial(ctx, network, address)
		return dialled, err
	})...)
	if err != nil {
		return notices.ErrUnavailable
	}
	defer func() {
		if dialled != nil {
			_ = dialled.Close()
		}
	}()
	connection, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return notices.ErrUnavailable
	}
	stop := context.AfterFunc(ctx, func() { _ = dialled.Close() })
	defer stop()
	if err := do(client, connection); err != nil {
		return err
	}
	_ = connection.Quit() // the server already has the message
	return nil
}

func (s *Sender) options(dial gomail.DialContextFunc) []gomail.Option {
	policy := gomail.TLSMandatory
	if s.implicit || s.plain { // the connection already has TLS, or does not need it
		policy = gomail.TLSOpportunistic
	}
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(s.conf.Timeout), gomail.WithTLSPolicy(policy),
		gomail.WithTLSConfig(s.tls()), gomail.WithDialContextFunc(dial), gomail.WithoutNoop(),
	}
	if s.conf.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.conf.User),
			gomail.WithPassword(s.conf.Password))
	}
	return options
}

func (s *Sender) tls() *tls.Config {
	return &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
}

func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.conf.Dial != nil {
		return s.conf.Dial(network, address)
	}
	if s.implicit {
		return (&tls.Dialer{Config: s.tls()}).DialContext(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// kindOf returns the port's error for an error of the library, without its text, which would contain the recipient.
func kindOf(err error, delivered bool) error {
	if err == nil || delivered {
		return nil
	}
	failed, found := errors.AsType[*gomail.SendError](err)
	if !found || failed.ErrorCode() < 500 {
		return notices.ErrLater
	}
	switch failed.Reason {
	case gomail.ErrSMTPMailFrom:
		return notices.ErrUnavailable
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return notices.ErrRefused
	}
	return notices.ErrLater
}
