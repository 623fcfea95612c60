// Package standins is the protocol between recitald and cmd/standins, the program with the payment provider, the
// identity provider and the hosting platform for development. Each frame of its standard input is a Config, and the
// only frame of its standard output a Started. The program exits at the end of its input, so that it dies with
// recitald.
package standins

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/providers/signin"
)

// Config selects the stand-ins to start, which are not nil. A later Config changes the address of webhooks only.
type Config struct {
	Payments *Payments `json:"payments,omitempty"`
	SignIn   *SignIn   `json:"sign_in,omitempty"`
	Hosting  *Hosting  `json:"hosting,omitempty"`
}

// Payments configures the payment provider. Addresses are on loopback; if the port is taken, a free one is used.
type Payments struct {
	File          string `json:"file"` // of its state
	Address       string `json:"address"`
	Key           string `json:"key"`
	WebhookSecret string `json:"webhook_secret"`
	WebhookURL    string `json:"webhook_url"` // "" while it is unknown
}

// SignIn configures the identity provider.
type SignIn struct {
	Address      string   `json:"address"`
	Issuers      []string `json:"issuers"` // their names
	Home         string   `json:"home"`    // host of a client that is not on loopback, or ""
	ClientSecret string   `json:"client_secret"`
}

// Hosting configures the hosting platform.
type Hosting struct {
	Address      string `json:"address"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// Started holds the base URLs of the stand-ins, or the reason why they could not be started.
type Started struct {
	Payments string `json:"payments,omitempty"`
	SignIn   string `json:"sign_in,omitempty"`
	Hosting  string `json:"hosting,omitempty"`
	Error    string `json:"error,omitempty"`
}

// At returns the configuration with the addresses at which the stand-ins were started.
func (c Config) At(started Started) Config {
	if c.Payments != nil {
		c.Payments = new(*c.Payments)
		c.Payments.Address = strings.TrimPrefix(started.Payments, "http://")
	}
	if c.SignIn != nil {
		c.SignIn = new(*c.SignIn)
		c.SignIn.Address = strings.TrimPrefix(started.SignIn, "http://")
	}
	if c.Hosting != nil {
		c.Hosting = new(*c.Hosting)
		c.Hosting.Address = strings.TrimPrefix(started.Hosting, "http://")
	}
	return c
}

// Listen listens on a loopback address, or on a free port of it if its port is taken. "" is any free port.
func Listen(address string) (net.Listener, error) {
	address = cmp.Or(address, "127.0.0.1:0")
	if !signin.IsLoopback(address) {
		return nil, errors.New("what is for development serves on loopback only")
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address is not HOST:PORT: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	return listener, err
}

// ClientID is the only client of the identity provider.
const ClientID = "recital"

// Span is a duration. In JSON it is a string such as "720h".
type Span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span(d)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) { //nolint:unparam // as the interface has it
	return []byte(time.Duration(s).String()), nil
}

// Status describes the payment sandbox, to operators of the admin address and by recitalctl, which shows a column for
// each tag col.
type Status struct {
	Now             time.Time `json:"now" col:"clock"`
	Ahead           string    `json:"ahead"` // of real time, such as "720h0m0s"
	Customers       int       `json:"customers"`
	Subscriptions   int       `json:"subscriptions"` // that have not ended
	PendingWebhooks int       `json:"pending_webhooks" col:"webhooks_waiting"`
	Faults          int       `json:"faults"`
	URL             string    `json:"url"`
	WebhookURL      string    `json:"webhook_url" col:"-"`
	// PaymentMethod is the id of the card that the order has registered; "" after any other.
	PaymentMethod string `json:"payment_method_id,omitempty" col:"-"`
}

// Customer is a customer of the payment sandbox with its latest subscription and invoice. Fields are "" where there is
// nothing.
type Customer struct {
	Customer      string `json:"customer"`
	Account       string `json:"account" col:",wide"` // Recital's, in the customer's metadata
	Subscription  string `json:"subscription" col:",wide"`
	Price         string `json:"price" col:",wide"`
	Status        string `json:"status"`
	Invoice       string `json:"invoice"`
	InvoiceStatus string `json:"invoice_status" col:",wide"`
	InvoicePage   string `json:"invoice_page" col:",wide"`
	CardPage      string `json:"card_page"` // where there is something to pay, or a card to register
}

// Send writes a message as a frame.
func Send[T Config | Started](to *workers.Writer, message T) error {
	payload, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return to.Write(workers.Frame{Payload: payload})
}

// Receive reads a message from the next frame. It returns io.EOF at the end.
func Receive[T Config | Started](from *workers.Reader) (message T, err error) {
	frame, err := from.Read()
	if err != nil {
		return message, err
	}
	return message, json.Unmarshal(frame.Payload, &message)
}

// Start starts the program at a path with a configuration, and returns when it serves.
func Start(command workers.Command, config Config) (*workers.Process, Started, error) {
	process, err := workers.Start(command)
	if err != nil {
		return nil, Started{}, err
	}
	started, err := begin(process, config)
	if err != nil {
		process.Kill()
		<-process.Done()
		return nil, Started{}, fmt.Errorf("starting the stand-ins: %w", err)
	}
	return process, started, nil
}

func begin(process *workers.Process, config Config) (Started, error) {
	if err := Send(process.In, config); err != nil {
		return Started{}, err
	}
	started, err := Receive[Started](process.Out)
	if err == nil && started.Error != "" {
		err = errors.New(started.Error)
	}
	return started, err
}
