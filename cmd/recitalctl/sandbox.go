package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/recital-tts/recital/internal/standins"
)

type sandboxes struct {
	Status          sandboxStatus                `cmd:"" default:"withargs" help:"${sandboxes_status}"`
	Customers       sandboxCustomers             `cmd:"" help:"${sandboxes_customers}"`
	Advance         sandboxOrder[advance]        `cmd:"" help:"${sandboxes_advance}"`
	FailNextPayment sandboxOrder[ofCustomer]     `cmd:"" help:"Decline the next payment of a customer."`
	Confirm         sandboxOrder[confirmation]   `cmd:"" help:"${sandboxes_confirm}"`
	Authenticate    sandboxOrder[authentication] `cmd:"" help:"Answer a card's request for confirmation."`
	Refund          sandboxOrder[refund]         `cmd:"" help:"Refund an invoice, or a part of it."`
	Dispute         sandboxOrder[ofInvoice]      `cmd:"" help:"Dispute the payment of an invoice."`
	CloseDispute    sandboxOrder[verdict]        `cmd:"" help:"Close a dispute."`
	Deliver         sandboxOrder[ofEvent]        `cmd:"" help:"Send the webhook of an event again."`
	Faults          sandboxOrder[fault]          `cmd:"" help:"Make requests to the sandbox fail, or end that."`
	Webhooks        sandboxOrder[webhooks]       `cmd:"" help:"${sandboxes_webhooks}"`
}

// Help implements kong.HelpProvider.
func (sandboxes) Help() string {
	return `The payment provider of mode dev.

Examples:
  recitalctl sandbox                                       its clock, address and waiting webhooks
  recitalctl sandbox customers                             its customers and their card pages
  recitalctl sandbox confirm pi_1_secret_2                 pay with a valid card
  recitalctl sandbox confirm pi_1_secret_2 --card 4000000000000002
                                                           try with one that is declined
  recitalctl sandbox advance 744h                          a month later: plans and their periods are renewed
  recitalctl sandbox fail-next-payment cus_1               let the next renewal fail
  recitalctl sandbox refund in_1 --amount 500              refund 5.00
  recitalctl sandbox faults fail --committed --times 1     the next request fails although it was carried out
  recitalctl sandbox faults none                           end all faults
  recitalctl sandbox webhooks --duplicate 50 --shuffle     every other webhook comes twice, in any order`
}

func printStatus(f format, to terminal, status standins.Status, err error) error {
	if status.PaymentMethod != "" && f != jsonValue {
		fmt.Fprintln(to.notes, "Registered; payment_method_id:", status.PaymentMethod)
	}
	return showOne(f, to, status, err)
}

type sandboxStatus struct{ valueForm }

// Run prints the status.
func (c *sandboxStatus) Run(ctx context.Context, admin *client, to terminal) error {
	status, err := get[standins.Status](ctx, admin, "looking at the payment sandbox", "/admin/sandbox")
	return printStatus(c.Format, to, status, err)
}

type sandboxCustomers struct{ listForm }

// Run prints the customers.
func (c *sandboxCustomers) Run(ctx context.Context, admin *client, to terminal) error {
	const path = "/admin/sandbox/customers"
	customers, err := get[[]standins.Customer](ctx, admin, "looking at the payment sandbox", path)
	return showList(c.Format, to, customers, customers, err)
}

// sandboxOrder is a command to the sandbox. It has the same name in the admin API.
type sandboxOrder[Body any] struct {
	valueForm
	Order Body `embed:""`
}

// Run sends the order and prints the sandbox's status.
func (c *sandboxOrder[Body]) Run(ctx context.Context, command *kong.Context, admin *client, to terminal) error {
	path := "/admin/sandbox/" + command.Selected().Name
	status, err := post[standins.Status](ctx, admin, "driving the payment sandbox", path, c.Order)
	return printStatus(c.Format, to, status, err)
}

type advance struct {
	By standins.Span `arg:"" json:"duration" help:"Duration, such as 24h; a month has at most 744h."`
}

type ofCustomer struct {
	Customer string `arg:"" json:"customer" help:"Id of the customer, as recitalctl sandbox customers shows it."`
}

type confirmation struct {
	ClientSecret string `arg:"" json:"client_secret" help:"${confirmation_client_secret}"`
	Card         string `json:"payment_method" default:"4242424242424242" help:"${confirmation_card}"`
}

type authentication struct {
	ClientSecret string `arg:"" help:"Client secret."`
	Refuse       bool   `help:"Refuse the confirmation."`
}

// MarshalJSON implements json.Marshaler.
func (a authentication) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"client_secret": a.ClientSecret, "approved": !a.Refuse})
}

type refund struct {
	Invoice string `arg:"" json:"invoice" help:"Id of the invoice."`
	Amount  int64  `json:"amount" placeholder:"CENTS" help:"${refund_amount}"`
}

type ofInvoice struct {
	Invoice string `arg:"" json:"invoice" help:"Id of the invoice."`
}

type verdict struct {
	Dispute string `arg:"" json:"dispute" help:"Id of the dispute."`
	Won     bool   `json:"won" help:"The dispute is won; otherwise the money goes back."`
}

type ofEvent struct {
	Event string `arg:"" json:"event" help:"Id of the event."`
}

type fault struct {
	Do        string        `arg:"" json:"do" enum:"none,fail,limit,cut,hang,delay,refuse" help:"${fault_do}"`
	Committed bool          `json:"committed" help:"The requests are carried out, too."`
	Method    string        `json:"method" placeholder:"POST" help:"Only requests of this method."`
	Path      string        `json:"path" placeholder:"/v1/subscriptions" help:"Only requests with this prefix of their paths."`
	Times     int           `json:"times" placeholder:"N" help:"Number of affected requests; all by default."`
	Delay     standins.Span `json:"delay" default:"0s" help:"How long a request is delayed, hangs, or connections are refused."`
}

// MarshalJSON implements json.Marshaler. The fault replaces all earlier ones.
func (f fault) MarshalJSON() ([]byte, error) {
	type plain fault
	faults := []plain{}
	if f.Do != "none" {
		faults = append(faults, plain(f))
	}
	return json.Marshal(map[string]any{"faults": faults})
}

type webhooks struct {
	Hold      bool          `json:"hold" help:"Send none: they wait."`
	Lose      int           `json:"lose" placeholder:"PERCENT" help:"Percentage that is never sent."`
	Duplicate int           `json:"duplicate" placeholder:"PERCENT" help:"Percentage that is sent twice."`
	Shuffle   bool          `json:"shuffle" help:"Send waiting ones in random order."`
	Delay     standins.Span `json:"delay" default:"0s" help:"Delay before each is sent."`
}
