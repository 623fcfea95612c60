package readapi

import (
	"time"

	"github.com/recital-tts/recital/domain/plan"
)

// Entitlement returns the entitlement of a row, in which what there is not is NULL.
func Entitlement(on string, from time.Time, until *time.Time, next *string, anchor *time.Time) plan.Entitlement {
	e := plan.Entitlement{Plan: plan.Type(on), Start: from}
	if until != nil {
		e.End = *until
	}
	if next != nil {
		e.Next = plan.Type(*next)
	}
	if anchor != nil {
		e.Anchor = *anchor
	}
	return e
}
