package billing

import (
	"time"

	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/feed/table"
)

type customerRow struct {
	Customer string `col:"customer_id,key"`
	Account  string `col:"account_id"`
}

type cardRow struct {
	Account       string `col:"account_id,key"`
	PaymentMethod string `col:"payment_method"`
	Brand         []byte `col:"brand"`
	Last4         []byte `col:"last4"`
}

type invoiceRow struct {
	Invoice    string    `col:"invoice_id,key"`
	Account    string    `col:"account_id"`
	Number     *string   `col:"number"`
	Status     string    `col:"status"`
	AmountDue  int64     `col:"amount_due"`
	AmountPaid int64     `col:"amount_paid"`
	Currency   string    `col:"currency"`
	Page       []byte    `col:"page,null"`
	PDF        []byte    `col:"pdf,null"`
	CreatedAt  time.Time `col:"created_at"`
}

// patience is how long a request may be under way before it is completed by the to-do worker.
const patience = 30 * time.Second

// requestRow is a request that has no outcome.
type requestRow struct {
	Request string    `col:"request_id,key"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// arrearsRow is a subscription whose payment is missing.
type arrearsRow struct {
	Subscription string    `col:"subscription_id,key"`
	Stream       string    `col:"stream"`
	Due          time.Time `col:"due_at"`
	Cause        string    `col:"cause"`
}

func (b billing) cardChanged(rows *table.Rows, e subscription.CardChanged) {
	if e.PaymentMethod == "" {
		b.cards.Delete(rows, cardRow{Account: e.Account})
		return
	}
	b.cards.Put(rows, cardRow{Account: e.Account, PaymentMethod: e.PaymentMethod, Brand: e.Brand, Last4: e.Last4})
}

func recordedRow(e subscription.InvoiceRecorded) invoiceRow {
	row := invoiceRow{
		Invoice: e.Invoice, Account: e.Account, Status: e.Status, AmountDue: e.AmountDue, AmountPaid: e.AmountPaid, Currency: e.Currency,
		Page: orNull(e.Page), PDF: orNull(e.PDF), CreatedAt: e.CreatedAt,
	}
	if e.Number != "" {
		row.Number = &e.Number
	}
	return row
}

// orNull returns what a column holds for bytes that may not have been given.
func orNull(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}
