// Package notices reads where notices go.
package notices

import (
	"context"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

// Addresses tells where the owners of accounts are reached. It may be out of date.
type Addresses struct{ Models readapi.Models }

var profile = readapi.From(readmodel.ProfilesView, `where account_id = $1`, "looking up where an account is reached")

// Of returns the e-mail address of an account's owner, sealed, and nil if none is shown.
func (a Addresses) Of(ctx context.Context, account string) ([]byte, error) {
	found, _, err := profile.Select(ctx, a.Models, account)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Email, nil
}
