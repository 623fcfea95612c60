// Package notices reads the addresses of notices.
package notices

import (
	"context"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// Addresses finds the e-mail addresses of accounts' owners. They may be out of date.
type Addresses struct{ Models readapi.Models }

var profile = readapi.From(readmodel.ProfilesView, `where account_id = $1`, "looking up the address of an account's owner")

// Of returns the encrypted e-mail address of an account's owner, nil if there is none.
func (a Addresses) Of(ctx context.Context, account string) ([]byte, error) {
	found, _, err := profile.Select(ctx, a.Models, account)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Email, nil
}
