package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

type sandboxes struct {
	Status          sandboxStatus    `cmd:"" default:"withargs" help:"Show what the sandbox is doing, and its clock."`
	Customers       sandboxCustomers `cmd:"" help:"List its customers with their last subscription and invoice, and the page where a card is to be entered."`
	Advance         sandboxAdvance   `cmd:"" help:"Advance its clock, and do what is due until then: renewals, retries, cancellations."`
	FailNextPayment sandboxFail      `cmd:"" help:"Have the next payment of a customer declined."`
	Confirm         sandboxConfirm   `cmd:"" help:"Pay, or register a card, as a person does on the card page."`
	Authenticate    sandboxAnswer    `cmd:"" help:"Answer the question that a card has asked its owner."`
	Refund          sandboxRefund    `cmd:"" help:"Refund an invoice, or a part of it."`
	Dispute         sandboxDispute   `cmd:"" help:"Have what was paid for an invoice disputed."`
	CloseDispute    sandboxVerdict   `cmd:"" help:"End a dispute."`
	Deliver         sandboxDeliver   `cmd:"" help:"Send the webhook of an event again."`
	Faults          sandboxFaults    `cmd:"" help:"Have requests to the sandbox go wrong, or no more."`
	Webhooks        sandboxWebhooks  `cmd:"" help:"Have webhooks come late, twice, in another order or not at all; without a flag as they should."`
}

// Help is shown by recitalctl sandbox --help.
func (sandboxes) Help() string {
	return `The payment provider that recitald brings along in mode dev.

Examples:
  recitalctl sandbox                                       its clock, its address, what waits
  recitalctl sandbox customers                             who pays, and where
  recitalctl sandbox confirm pi_1_secret_2                 pay with a card that is good
  recitalctl sandbox confirm pi_1_secret_2 --card 4000000000000002
                                                           try with one that is declined
  recitalctl sandbox advance 744h                          a month later: subscriptions are renewed
  recitalctl sandbox fail-next-payment cus_1               let the next renewal fail
  recitalctl sandbox refund in_1 --amount 500              refund 5.00
  recitalctl sandbox faults fail --committed --times 1     the next request fails although it was carried out
  recitalctl sandbox faults none                           all goes well again
  recitalctl sandbox webhooks --duplicate 50 --shuffle     every other webhook comes twice, in any order`
}

// sandboxState is the admin API's description of the sandbox.
type sandboxState struct {
	URL             string    `json:"url"`
	Now             time.Time `json:"now"`
	Ahead           string    `json:"ahead"`
	WebhookURL      string    `json:"webhook_url"`
	PendingWebhooks int       `json:"pending_webhooks"`
	Faults          int       `json:"faults"`
	Customers       int       `json:"customers"`
	Subscriptions   int       `json:"subscriptions"`
	PaymentMethod   string    `json:"payment_method_id,omitempty"`
}

func (state sandboxState) print(f format, to terminal) error {
	if state.PaymentMethod != "" && f != jsonValue {
		fmt.Fprintln(to.notes, "Registered; payment_method_id:", state.PaymentMethod)
	}
	return f.print(to, state, []string{"CLOCK", "AHEAD", "CUSTOMERS", "SUBSCRIPTIONS", "WEBHOOKS WAITING", "FAULTS", "PAGES"}, [][]string{{
		state.Now.Format(time.RFC3339), state.Ahead, strconv.Itoa(state.Customers), strconv.Itoa(state.Subscriptions),
		strconv.Itoa(state.PendingWebhooks), strconv.Itoa(state.Faults), state.URL + "/pages/",
	}})
}

// sandboxForm is a flag of all commands.
type sandboxForm struct {
	Format format `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// order has the sandbox do something and prints its state.
func (c sandboxForm) order(ctx context.Context, s settings, to terminal, name string, body map[string]any) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var state sandboxState
	if _, err := admin.post(ctx, "/admin/sandbox/"+name, body, &state); err != nil {
		return fmt.Errorf("driving the payment sandbox: %w", err)
	}
	return state.print(c.Format, to)
}

type sandboxStatus struct{ sandboxForm }

// Run prints the state.
func (c *sandboxStatus) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var state sandboxState
	if _, err := admin.get(ctx, "/admin/sandbox", &state); err != nil {
		return fmt.Errorf("looking at the payment sandbox: %w", err)
	}
	return state.print(c.Format, to)
}

type sandboxCustomers struct {
	Format format `default:"table" enum:"table,json,csv" help:"Form of the result: table, json or csv."`
}

// sandboxCustomer is the admin API's description of a customer.
type sandboxCustomer struct {
	Customer      string `json:"customer"`
	Account       string `json:"account"`
	Subscription  string `json:"subscription"`
	Price         string `json:"price"`
	Status        string `json:"status"`
	Invoice       string `json:"invoice"`
	InvoiceStatus string `json:"invoice_status"`
	InvoicePage   string `json:"invoice_page"`
	CardPage      string `json:"card_page"`
}

// Run prints the customers.
func (c *sandboxCustomers) Run(ctx context.Context, s settings, to terminal) error {
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	var customers []sandboxCustomer
	if _, err := admin.get(ctx, "/admin/sandbox/customers", &customers); err != nil {
		return fmt.Errorf("looking at the payment sandbox: %w", err)
	}
	return printColumns(c.Format, to, customers, customerColumns(), customers)
}

type sandboxAdvance struct {
	sandboxForm
	By time.Duration `arg:"" help:"By how much, such as 24h; a month has at most 744h."`
}

// Run advances the clock.
func (c *sandboxAdvance) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "advance", map[string]any{"duration": c.By.String()})
}

type sandboxFail struct {
	sandboxForm
	Customer string `arg:"" help:"Id of the customer, as recitalctl sandbox customers shows it."`
}

// Run has a payment fail.
func (c *sandboxFail) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "fail-next-payment", map[string]any{"customer": c.Customer})
}

type sandboxConfirm struct {
	sandboxForm
	ClientSecret string `arg:"" help:"Client secret, as POST /payments/subscribe or /payments/setup-intent answers it."`
	Card         string `default:"4242424242424242" help:"Number of a test card, or a payment method. The card page lists them."`
}

// Run pays, or registers a card.
func (c *sandboxConfirm) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "confirm", map[string]any{"client_secret": c.ClientSecret, "payment_method": c.Card})
}

type sandboxAnswer struct {
	sandboxForm
	ClientSecret string `arg:"" help:"Client secret."`
	Refuse       bool   `help:"Answer that it is not the owner."`
}

// Run answers.
func (c *sandboxAnswer) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "authenticate", map[string]any{"client_secret": c.ClientSecret, "approved": !c.Refuse})
}

type sandboxRefund struct {
	sandboxForm
	Invoice string `arg:"" help:"Id of the invoice."`
	Amount  int64  `placeholder:"CENTS" help:"How much, in minor units of the currency; all that is left by default."`
}

// Run refunds.
func (c *sandboxRefund) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "refund", map[string]any{"invoice": c.Invoice, "amount": c.Amount})
}

type sandboxDispute struct {
	sandboxForm
	Invoice string `arg:"" help:"Id of the invoice."`
}

// Run disputes.
func (c *sandboxDispute) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "dispute", map[string]any{"invoice": c.Invoice})
}

type sandboxVerdict struct {
	sandboxForm
	Dispute string `arg:"" help:"Id of the dispute."`
	Won     bool   `help:"The money stays here; it goes back otherwise."`
}

// Run ends a dispute.
func (c *sandboxVerdict) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "close-dispute", map[string]any{"dispute": c.Dispute, "won": c.Won})
}

type sandboxDeliver struct {
	sandboxForm
	Event string `arg:"" help:"Id of the event."`
}

// Run sends a webhook.
func (c *sandboxDeliver) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "deliver", map[string]any{"event": c.Event})
}

type sandboxFaults struct {
	sandboxForm
	Do        string        `arg:"" enum:"none,fail,limit,cut,hang,delay,refuse" help:"fail (500), limit (429), cut (the connection), hang, delay, refuse (connections), or none to end all faults."`
	Committed bool          `help:"What is asked is carried out all the same."`
	Method    string        `placeholder:"POST" help:"Only requests of this method."`
	Path      string        `placeholder:"/v1/subscriptions" help:"Only requests whose paths begin so."`
	Times     int           `placeholder:"N" help:"How many requests; all by default."`
	Delay     time.Duration `help:"How long a request is delayed, hangs, or connections are refused."`
}

// Run replaces the faults.
func (c *sandboxFaults) Run(ctx context.Context, s settings, to terminal) error {
	faults := []map[string]any{}
	if c.Do != "none" {
		faults = append(faults, map[string]any{
			"do": c.Do, "committed": c.Committed, "method": c.Method, "path": c.Path, "times": c.Times, "delay": c.Delay.String(),
		})
	}
	return c.order(ctx, s, to, "faults", map[string]any{"faults": faults})
}

type sandboxWebhooks struct {
	sandboxForm
	Hold      bool          `help:"None is sent: they wait."`
	Lose      int           `placeholder:"PERCENT" help:"How many of a hundred are never sent."`
	Duplicate int           `placeholder:"PERCENT" help:"How many of a hundred are sent twice."`
	Shuffle   bool          `help:"Those that wait are sent in any order."`
	Delay     time.Duration `help:"How long each waits."`
}

// Run sets how webhooks come.
func (c *sandboxWebhooks) Run(ctx context.Context, s settings, to terminal) error {
	return c.order(ctx, s, to, "webhooks", map[string]any{
		"hold": c.Hold, "lose": c.Lose, "duplicate": c.Duplicate, "shuffle": c.Shuffle, "delay": c.Delay.String(),
	})
}

func customerColumns() []column[sandboxCustomer] {
	return []column[sandboxCustomer]{
		{name: "customer", people: func(c sandboxCustomer) string { return c.Customer }},
		{name: "account", people: func(c sandboxCustomer) string { return c.Account }, wide: true},
		{name: "subscription", people: func(c sandboxCustomer) string { return c.Subscription }, wide: true},
		{name: "price", people: func(c sandboxCustomer) string { return c.Price }, wide: true},
		{name: "status", people: func(c sandboxCustomer) string { return c.Status }},
		{name: "invoice", people: func(c sandboxCustomer) string { return c.Invoice }},
		{name: "invoice_status", people: func(c sandboxCustomer) string { return c.InvoiceStatus }, wide: true},
		{name: "card_page", people: func(c sandboxCustomer) string { return c.CardPage }},
	}
}
