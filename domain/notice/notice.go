package notice

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/recital-tts/recital/domain/alert"
)

// Kind is the subject matter of a notice.
type Kind string

// The kinds.
const (
	UsageReached    Kind = "usage"
	SpendingReached Kind = "spending"
	PaymentFailed   Kind = "payment"
	APIKeyCreated   Kind = "api-key"
	AlertRaised     Kind = "alert"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{UsageReached, SpendingReached, PaymentFailed, APIKeyCreated, AlertRaised}
}

// Notice is a message to the owner of an account or, if Account is "", to the operators. It has no personal data: the
// owner's address is looked up when the message is sent.
type Notice struct {
	Kind    Kind
	Account string
	Details map[string]string // for the texts, and for receivers of webhooks
}

// OfUsage returns the notice that a share of a period's characters is used.
func OfUsage(account string, percent, limit int64) Notice {
	return Notice{UsageReached, account, map[string]string{
		"percent": strconv.FormatInt(percent, 10), "limit": strconv.FormatInt(limit, 10),
	}}
}

// OfSpending returns the notice that a share of the spending cap, in minor units, is reached.
func OfSpending(account string, percent, limit int64, currency string) Notice {
	return Notice{SpendingReached, account, map[string]string{
		"percent": strconv.FormatInt(percent, 10), "cap": strconv.FormatInt(limit, 10), "currency": currency,
	}}
}

// OfPayment returns the notice that an invoice could not be collected.
func OfPayment(account, invoice string, attempt int64) Notice {
	return Notice{PaymentFailed, account, map[string]string{
		"invoice": invoice, "attempt": strconv.FormatInt(attempt, 10),
	}}
}

// OfKey returns the notice that an account has another API key.
func OfKey(account, masked string) Notice {
	return Notice{APIKeyCreated, account, map[string]string{"key": masked}}
}

// OfAlert returns the notice of an alert.
func OfAlert(c alert.Condition, since time.Time, lasting bool) Notice {
	return Notice{AlertRaised, "", map[string]string{
		"source": c.Source, "subject": c.Subject, "reason": string(c.Reason),
		"sentence": alert.Open{Condition: c, Since: since, Lasting: lasting}.Sentence(),
	}}
}

// longest is the maximum length of a detail, in characters.
const longest = 300

// Item encodes the notice as an item of a to-do list.
func (n Notice) Item() string {
	details := url.Values{}
	for name, text := range n.Details {
		details.Set(name, clean(text))
	}
	return string(n.Kind) + "/" + n.Account + "?" + details.Encode()
}

// clean returns a text on one line of limited length.
func clean(text string) string {
	line := []rune(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?")))
	return string(line[:min(len(line), longest)])
}

// Parse reads the result of Item.
func Parse(item string) (Notice, error) {
	path, query, found := strings.Cut(item, "?")
	kind, account, also := strings.Cut(path, "/")
	details, err := url.ParseQuery(query)
	if !found || !also || err != nil {
		return Notice{}, errors.New("the item is no notice")
	}
	n := Notice{Kind: Kind(kind), Account: account, Details: map[string]string{}}
	for name := range details {
		n.Details[name] = details.Get(name)
	}
	if n.Subject() == "" {
		return Notice{}, errors.New("the kind of notice is unknown")
	}
	return n, nil
}

// Subject returns the subject, or "" for an unknown kind.
func (n Notice) Subject() string {
	switch n.Kind {
	case UsageReached:
		return fmt.Sprintf("%s %% of your characters are used", n.Details["percent"])
	case SpendingReached:
		return fmt.Sprintf("%s %% of your spending cap are reached", n.Details["percent"])
	case PaymentFailed:
		return "A payment has failed"
	case APIKeyCreated:
		return "A new API key was created"
	case AlertRaised:
		return "Alert: " + n.Details["sentence"]
	}
	return ""
}

// Body returns the text.
func (n Notice) Body() string {
	if n.Account == "" {
		return n.text() + ".\n\nrecitalctl alerts lists the open alerts, and docs/alerts.md has instructions.\n"
	}
	return n.text() + "\n\nThis message is about your account " + n.Account + ". You can turn such messages off in " +
		"your e-mail preferences.\n"
}

func (n Notice) text() string {
	switch n.Kind {
	case UsageReached:
		return fmt.Sprintf("Your account has used %s %% of the %s characters that its plan and credit permit in this "+
			"period.", n.Details["percent"],
			n.Details["limit"])
	case SpendingReached:
		return fmt.Sprintf("Characters past your plan cost %s %% of your spending cap in this period. Requests that could "+
			"exceed the cap are refused.", n.Details["percent"])
	case PaymentFailed:
		return fmt.Sprintf("Invoice %s could not be collected (attempt %s). Please pay it, or replace your card: your "+
			"account loses its plan otherwise.", n.Details["invoice"], n.Details["attempt"])
	case APIKeyCreated:
		return fmt.Sprintf("Your account has a new API key, %s. If it was not you who created it, delete it, and sign "+
			"out of all sessions.", n.Details["key"])
	}
	return n.Details["sentence"]
}
