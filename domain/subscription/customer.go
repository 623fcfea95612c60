package subscription

import "github.com/recital-tts/recital/domain"

// RecordCustomer records the customer that the account is at the provider. The first one stays.
type RecordCustomer CustomerCreated

// Decide refuses another customer than the account has.
func (c RecordCustomer) Decide(s State) ([]Event, error) {
	switch s.Customer {
	case "":
		return []Event{CustomerCreated(c)}, nil
	case c.Customer:
		return nil, nil
	}
	return nil, domain.Refuse(domain.Conflict, "The account is another customer")
}
