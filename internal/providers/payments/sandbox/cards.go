package sandbox

import (
	"net/http"
	"strings"
)

// testCard is a card that behaves in a known way. Its number and the ids that stand for it are those of Stripe.
type testCard struct {
	number   string
	ids      string // of payment methods, separated by spaces
	brand    string
	funding  string
	decline  string // why payments are declined; "" means that they are not
	refused  bool   // it cannot even be attached to a customer
	confirm  string // when its owner is asked to confirm: "", "always" or "unless set up"
	disputed bool   // its owner disputes every payment
}

const (
	always      = "always"
	unlessSetUp = "unless set up"
)

func testCards() []testCard {
	return []testCard{
		{number: "4242424242424242", ids: "pm_card_visa", brand: "visa"},
		{number: "4000056655665556", ids: "pm_card_visa_debit", brand: "visa", funding: "debit"},
		{number: "5555555555554444", ids: "pm_card_mastercard", brand: "mastercard"},
		{number: "378282246310005", ids: "pm_card_amex", brand: "amex"},
		{number: "4000000000000002", ids: "pm_card_chargeDeclined pm_card_visa_chargeDeclined", brand: "visa", decline: "generic_decline", refused: true},
		{number: "4000000000009995", ids: "pm_card_chargeDeclinedInsufficientFunds pm_card_visa_chargeDeclinedInsufficientFunds", brand: "visa", decline: "insufficient_funds", refused: true},
		{number: "4000000000000069", ids: "pm_card_chargeDeclinedExpiredCard pm_card_visa_chargeDeclinedExpiredCard", brand: "visa", decline: "expired_card", refused: true},
		{number: "4000000000000341", ids: "pm_card_chargeCustomerFail pm_card_visa_chargeCustomerFail", brand: "visa", decline: "generic_decline"},
		{number: "4000002500003155", ids: "pm_card_authenticationRequiredOnSetup", brand: "visa", confirm: unlessSetUp},
		{number: "4000002760003184", ids: "pm_card_authenticationRequired", brand: "visa", confirm: always},
		{number: "4000000000000259", ids: "pm_card_createDispute", brand: "visa", disputed: true},
	}
}

// cardOf returns the card with a number, or that an id stands for.
func cardOf(numberOrID string) (testCard, bool) {
	numberOrID = strings.ReplaceAll(numberOrID, " ", "")
	for _, c := range testCards() {
		if c.number == numberOrID {
			return c, true
		}
		for id := range strings.FieldsSeq(c.ids) {
			if id == numberOrID {
				return c, true
			}
		}
	}
	return testCard{}, false
}

// isNumber reports whether a text is a card's number rather than an id.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789 ") == "" }

func (c testCard) last4() string { return c.number[len(c.number)-4:] }

// refusal returns what Stripe says when the card is declined.
func (c testCard) refusal() *problem {
	switch c.decline {
	case "":
		return nil
	case "expired_card":
		return declined(c.decline, c.decline, "Your card has expired.")
	case "insufficient_funds":
		return declined("card_declined", c.decline, "Your card has insufficient funds.")
	}
	return declined("card_declined", c.decline, "Your card was declined.")
}

func declined(code, decline, message string) *problem {
	return &problem{
		status: http.StatusPaymentRequired, Type: "card_error", Code: code, DeclineCode: decline, Message: message,
	}
}
