// Package webhook sends notices to the operators' receiver, as Standard Webhooks (www.standardwebhooks.com).
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/recital-tts/recital/internal/providers/notices"
)

// Config configures a Sender. Now, Timeout and Watch are optional.
type Config struct {
	URL     string
	Secret  string // whsec_ and the key in base64
	Now     func() time.Time
	Timeout time.Duration // of one call; notices.Timeout
	Watch   func(http.RoundTripper) http.RoundTripper
}

// maxReply is the maximum number of bytes read of a reply, so that the connection can be reused.
const maxReply = 64 << 10

// Sender implements notices.Sender.
type Sender struct {
	conf   Config
	signer *standard.Webhook
	client *http.Client
}

// New returns a sender, or an error if the secret is invalid. The caller must close it.
func New(conf Config) (*Sender, error) {
	key, err := Key(conf.Secret)
	if err != nil {
		return nil, err
	}
	signer, err := standard.NewWebhookRaw(key)
	if err != nil {
		return nil, err
	}
	if conf.Now == nil {
		conf.Now = time.Now
	}
	var transport http.RoundTripper = &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
	}
	if conf.Watch != nil {
		transport = conf.Watch(transport)
	}
	return &Sender{conf: conf, signer: signer, client: &http.Client{
		Transport: transport, Timeout: cmp.Or(conf.Timeout, notices.Timeout),
		// a message signed for one address must not be sent to another
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Key returns the key in a secret.
func Key(secret string) ([]byte, error) {
	encoded, found := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("a secret of Standard Webhooks is whsec_ and 24 to 64 bytes in base64")
	}
	return key, nil
}

// Close closes idle connections.
func (s *Sender) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// payload is the body of a webhook.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the reported event
	Data      content   `json:"data"`
}

type content struct {
	Account string            `json:"account,omitempty"`
	To      string            `json:"to,omitempty"` // e-mail address of the account's owner
	Subject string            `json:"subject"`
	Text    string            `json:"text"`
	Details map[string]string `json:"details"`
}

// Send implements notices.Sender. Any reply other than 2xx and 410 (Gone) is retried.
func (s *Sender) Send(ctx context.Context, m notices.Message) error {
	body, err := json.Marshal(payload{Type: m.Kind, Timestamp: m.At.UTC(), Data: content{
		Account: m.Account, To: m.To, Subject: m.Subject, Text: m.Body, Details: m.Data,
	}})
	if err != nil {
		return notices.ErrRefused
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.conf.URL, bytes.NewReader(body))
	if err != nil {
		return notices.ErrUnavailable
	}
	at := s.conf.Now()
	signature, err := s.signer.Sign(m.ID, at, body)
	if err != nil {
		return notices.ErrRefused
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "recital")
	request.Header.Set(standard.HeaderWebhookID, m.ID)
	request.Header.Set(standard.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	request.Header.Set(standard.HeaderWebhookSignature, signature)
	return s.ask(request)
}

func (s *Sender) ask(request *http.Request) error {
	response, err := s.client.Do(request)
	if err != nil {
		return notices.ErrUnavailable
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxReply)
	switch {
	case response.StatusCode/100 == 2:
		return nil
	case response.StatusCode == http.StatusGone:
		return notices.ErrRefused
	}
	return notices.ErrLater
}
