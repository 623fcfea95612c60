package audit

import (
	"fmt"
	"strconv"
	"time"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// requests are the kinds of requests in words.
var requests = map[subscription.Kind]string{
	subscription.Subscribe:           "to subscribe",
	subscription.ChangePlan:          "another plan",
	subscription.DropScheduledChange: "no change at the end of the period",
	subscription.Cancel:              "the subscription to end with its period",
	subscription.Uncancel:            "the subscription to go on",
	subscription.SetupCard:           "to register a card",
	subscription.ReplaceCard:         "another card to pay",
	subscription.End:                 "nothing more, because it is closed",
	subscription.EndDisputed:         "no plan any more, by the operator's rule for lost disputes",
}

// losses are the reasons for lost amounts in words.
var losses = map[subscription.LossReason]string{
	subscription.BelowMinimum:  "the payment provider charges no such amount, and no other invoice comes",
	subscription.Voided:        "the invoice that it was on is void",
	subscription.Uncollectible: "the account is closed, and its invoice was not paid",
	subscription.NoCustomer:    "the payment provider has forgotten the customer",
}

// refusals are the reasons for refusals in words.
var refusals = map[subscription.Reason]string{
	subscription.Declined:    "the card was declined",
	subscription.Unconfirmed: "the bank asks the owner of the card to confirm the payment",
	subscription.NotThere:    "the payment provider does not know what it is about",
	subscription.Forbidden:   "the payment provider does not permit it",
}

func ofSubscription(event any) entry {
	e := entry{area: readmodel.AuditBilling}
	switch s := event.(type) {
	case subscription.Requested:
		e.of(s.Account, "Account %s wants %s%s (request %s)", s.Account, requests[s.Kind], atPrice(s.Price), s.Request)
	case subscription.Agreed:
		e.of(s.Account, "The payment provider carried out request %s of account %s", s.Request, s.Account)
	case subscription.Refused:
		e.of(s.Account, "Request %s of account %s was refused, because %s", s.Request, s.Account, refusals[s.Reason])
	case subscription.CustomerCreated:
		e.of(s.Account, "Account %s became customer %s of the payment provider", s.Account, s.Customer)
	case subscription.CustomerDeleted:
		e.of(s.Account, "The payment provider has forgotten customer %s, which account %s was", s.Customer, s.Account)
	case subscription.Created:
		e.of(s.Account, "Account %s has subscription %s to plan %s at price %s, which is %s",
			s.Account, s.Subscription, s.Plan, s.Price, s.Status)
	case subscription.Activated:
		e.of(s.Account, "Subscription %s of account %s to plan %s is paid, until %s",
			s.Subscription, s.Account, s.Plan, day(s.PeriodEnd))
	case subscription.Renewed:
		e.of(s.Account, "Subscription %s of account %s to plan %s was renewed until %s",
			s.Subscription, s.Account, s.Plan, day(s.PeriodEnd))
	case subscription.PlanChanged:
		e.of(s.Account, "Subscription %s of account %s changed from plan %s to plan %s",
			s.Subscription, s.Account, s.From, s.Plan)
	case subscription.ChangeScheduled:
		e.of(s.Account, "Subscription %s of account %s is to change to plan %s on %s",
			s.Subscription, s.Account, s.Plan, day(s.EffectiveAt))
	case subscription.ScheduledChangeDropped:
		e.of(s.Account, "No change of subscription %s of account %s is scheduled any more", s.Subscription, s.Account)
	case subscription.ChangePending:
		e.of(s.Account, "Subscription %s of account %s changes to plan %s if invoice %s is paid until %s",
			s.Subscription, s.Account, s.Plan, s.Invoice, s.ExpiresAt.UTC().Format(time.DateTime))
	case subscription.PendingChangeEnded:
		e.of(s.Account, "The change of subscription %s of account %s that was to be confirmed has lapsed",
			s.Subscription, s.Account)
		if s.Made {
			e.of(s.Account, "The change of subscription %s of account %s was confirmed", s.Subscription, s.Account)
		}
	case subscription.CancellationScheduled:
		e.of(s.Account, "Subscription %s of account %s is to end on %s", s.Subscription, s.Account, day(s.CancelAt))
	case subscription.CancellationWithdrawn:
		e.of(s.Account, "Subscription %s of account %s goes on", s.Subscription, s.Account)
	case subscription.FellDue:
		e.of(s.Account, "A payment of subscription %s of account %s is missing; its plan %s is granted until %s",
			s.Subscription, s.Account, s.Plan, day(s.GraceEnds))
	case subscription.Lapsed:
		e.of(s.Account, "Subscription %s of account %s was not paid in time", s.Subscription, s.Account)
	case subscription.Ended:
		e.of(s.Account, "Subscription %s of account %s to plan %s ended: it is %s",
			s.Subscription, s.Account, s.Plan, s.Status)
	case subscription.Entitled:
		e.of(s.Account, "Account %s is entitled to plan %s from %s%s", s.Account, s.Plan, day(s.Start), until(s.End))
	}
	return e
}

func ofInvoice(event any) entry {
	e := entry{area: readmodel.AuditBilling}
	switch s := event.(type) {
	case subscription.CardChanged:
		e.of(s.Account, "Another card pays for account %s", s.Account)
		if s.PaymentMethod == "" {
			e.sentence = fmt.Sprintf("No card pays for account %s any more", s.Account)
		}
		e.personal = []readmodel.PersonalField{
			{Name: "card_brand", Use: subscription.SealedForCard, Sealed: s.Brand},
			{Name: "card_last4", Use: subscription.SealedForCard, Sealed: s.Last4},
		}
	case subscription.InvoiceRecorded:
		e.account = s.Account
		e.sentence = fmt.Sprintf("Invoice %s of account %s over %s is %s, with %s paid",
			s.Invoice, s.Account, amount(s.AmountDue, s.Currency), s.Status, amount(s.AmountPaid, s.Currency))
		e.personal = []readmodel.PersonalField{
			{Name: "invoice_page", Use: subscription.SealedForInvoice, Sealed: s.Page},
			{Name: "invoice_pdf", Use: subscription.SealedForInvoice, Sealed: s.PDF},
		}
	case subscription.PaymentFailed:
		e.of(s.Account, "Invoice %s of account %s could not be collected, at attempt %d", s.Invoice, s.Account, s.Attempts)
	case subscription.InvoiceRefunded:
		e.of(s.Account, "Of invoice %s of account %s %s were paid back, in all",
			s.Invoice, s.Account, amount(s.Refunded, s.Currency))
	case subscription.InvoiceDisputed:
		e.of(s.Account, "The payment of invoice %s of account %s is disputed", s.Invoice, s.Account)
		switch {
		case s.Dispute == "lost":
			e.sentence = fmt.Sprintf("The dispute over the payment of invoice %s of account %s is lost: %s went back",
				s.Invoice, s.Account, amount(s.Amount, s.Currency))
		case !s.Disputed:
			e.sentence = fmt.Sprintf("The payment of invoice %s of account %s is not disputed any more", s.Invoice, s.Account)
		}
	case subscription.Collected:
		e.of(s.Account, "What account %s owed was charged to the card of its subscription, or is lost where none goes on",
			s.Account)
	case subscription.Lost:
		e.of(s.Account, "%s of account %s will not be collected (%s): %s, for %d characters past the plan",
			amount(s.Amount, s.Currency), s.Account, s.Object, losses[s.Reason], s.Characters)
	}
	return e
}

func ofPayment(event any) entry {
	e := entry{area: readmodel.AuditBilling}
	switch p := event.(type) {
	case payment.Received:
		e.sentence = fmt.Sprintf("The payment provider gave notice %s: %s of %s", p.ID, p.Kind, p.Object)
	case payment.Handled:
		e.of(p.Account, "Notice %s of the payment provider was dealt with", p.ID)
		if p.Account == "" {
			e.sentence += ": it is about no account"
		}
	case payment.Reconciled:
		e.sentence = fmt.Sprintf("The payment provider's events until %s are in the log; %d had not come as notices",
			p.Through.UTC().Format(time.DateTime), p.Missed)
	}
	return e
}

func ofLedger(event any) entry {
	e := entry{area: readmodel.AuditBilling}
	switch l := event.(type) {
	case ledger.PeriodOpened:
		e.of(l.Account, "Account %s began the period from %s to %s on plan %s%s",
			l.Account, day(l.Start), day(l.End), l.Plan, limit(l.Limit))
	case ledger.TermsChanged:
		e.of(l.Account, "The period of account %s from %s goes on until %s on plan %s%s",
			l.Account, day(l.Start), day(l.End), l.Plan, limit(l.Limit))
		if l.Overage > 0 {
			e.sentence += fmt.Sprintf("; %d characters past plan and credit are billed on the terms before", l.Overage)
		}
	case ledger.Ended:
		e.of(l.Account, "The period of account %s from %s ended on %s", l.Account, day(l.Start), day(l.End))
	case ledger.Closed:
		e.of(l.Account, "The period of account %s from %s was settled: %d characters past plan and credit",
			l.Account, day(l.Start), l.Overage)
	case ledger.OverageBilled:
		e.of(l.Account, "The %d characters of account %s past its plan, in the period from %s, cost %s",
			l.Characters, l.Account, day(l.Start), amount(l.Amount, l.Currency))
	case ledger.BroughtIn:
		e.of(l.Account, "Account %s brought %d used characters into the period from %s, "+
			"from an account that its owner has closed", l.Account, l.Characters, day(l.Start))
	case account.SpendingCapSet:
		e.of(l.Account, "Account %s spends at most %s past its plan in a period", l.Account, capOf(l.SpendingCap))
	case ledger.CreditGranted:
		e.of(l.Account, "Account %s was granted %d characters of credit, as grant %s", l.Account, l.Characters, l.Grant)
		if l.From != nil {
			e.of(l.Account, "Of grant %[3]s account %[1]s keeps %[2]d characters of credit from the period before",
				l.Account, l.Characters, l.Grant)
		}
	case ledger.CreditCarried:
		e.of(l.Account, "Account %s carried %d characters of credit into the period from %s",
			l.Account, l.Characters, day(l.To))
	}
	return e
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func until(end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return " until " + day(end)
}

func atPrice(price string) string {
	if price == "" {
		return ""
	}
	return " at price " + price
}

func limit(characters *int64) string {
	if characters == nil {
		return ", without a limit"
	}
	return ", with " + strconv.FormatInt(*characters, 10) + " characters"
}

// capOf returns a spending cap in words.
func capOf(c plan.SpendingCap) string {
	if c.Amount == nil {
		return "any amount"
	}
	return amount(*c.Amount, c.Currency)
}

// amount returns an amount in minor units; their number per unit depends on the currency.
func amount(minor int64, currency string) string {
	return strconv.FormatInt(minor, 10) + " minor units of " + currency
}
