package ledger

import (
	"fmt"
	"regexp"
	"time"

	"github.com/recital-tts/recital/domain"
)

// Refusals of grants for which a retry does not help.
var (
	ErrOtherGrant    = domain.Refuse(domain.Rejected, "The grant was given before, with another number of characters")
	ErrTooManyGrants = domain.Refuse(domain.Rejected,
		fmt.Sprintf("The account has had %d grants in this period, which is the maximum", MaxGrants))
)

// GrantIDPattern is the pattern of grant ids.
const GrantIDPattern = `^[A-Za-z0-9._-]+$`

var grantID = regexp.MustCompile(GrantIDPattern)

// Grant adds credit to a period: an operator's, or the remaining credit of the period that started at From.
type Grant struct {
	Grant      string
	Characters int64
	From       *time.Time
	At         time.Time
}

// Decide returns no event if the grant was already made. Errors: ErrOver if the period is over, ErrOtherGrant, and
// ErrTooManyGrants, which does not apply to carried credit.
func (c Grant) Decide(s State) ([]Event, error) {
	if !s.Exists() {
		return nil, domain.Refuse(domain.Conflict, "The period is not open")
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	switch given, found := s.GrantOf(c.Grant); {
	case found && given.Characters != c.Characters:
		return nil, ErrOtherGrant
	case found:
		return nil, nil
	case s.Over():
		return nil, ErrOver
	case c.From == nil && s.givenByOperators() >= MaxGrants:
		return nil, ErrTooManyGrants
	}
	return []Event{CreditGranted{
		Account: s.Terms.Account, Grant: c.Grant, Characters: c.Characters,
		Start: s.Terms.Start, End: s.Terms.End, From: c.From, At: c.At,
	}}, nil
}

func (c Grant) check() error {
	switch {
	case len(c.Grant) > MaxGrantID || !grantID.MatchString(c.Grant):
		return domain.Refuse(domain.Invalid,
			fmt.Sprintf("The id of a grant is 1 to %d letters, digits, dots, hyphens and underscores", MaxGrantID))
	case c.Characters < 1 || c.From == nil && c.Characters > MaxGrantedAtOnce:
		return domain.Refuse(domain.Invalid, fmt.Sprintf("A grant is 1 to %d characters", MaxGrantedAtOnce))
	}
	return nil
}
