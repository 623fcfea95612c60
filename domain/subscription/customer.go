package subscription

import "github.com/recital-tts/recital/domain"

// RecordCustomer records the account's customer at the provider. The first one is kept.
type RecordCustomer CustomerCreated

// Decide refuses a customer other than the recorded one.
func (c RecordCustomer) Decide(s State) ([]Event, error) {
	switch s.Customer {
	case "":
		return []Event{CustomerCreated(c)}, nil
	case c.Customer:
		return nil, nil
	}
	return nil, domain.Refuse(domain.Conflict, "The account already has another customer")
}
