package voices

import (
	"context"
	"strings"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi"
)

const (
	// maxNamed is the maximum number of an account's voices among which a name is looked up: names are encrypted, so
	// each lookup decrypts all of them.
	maxNamed = 1000
	// maxName is the maximum length of a name in bytes: 200 code points.
	maxName = 800
)

var errTooManyNames = domain.Refuse(domain.Invalid,
	"The account has too many voices to find one by its name: use the id of the voice")

var namedQuery = readapi.From(readmodel.VoicesView, "where account_id = $1 order by created_at, voice_id limit $2",
	"finding a voice by its name")

// Named returns the ids of an account's voices with a name, oldest first. Case is ignored. It returns domain.Invalid
// for an account with more than 1,000 voices.
func (a *API) Named(ctx context.Context, account, name string) (ids []string, err error) {
	if name == "" || len(name) > maxName {
		return nil, nil
	}
	rows, _, err := namedQuery.Select(ctx, a.Models, account, maxNamed+1)
	if err != nil {
		return nil, err
	}
	if len(rows) > maxNamed {
		return nil, errTooManyNames
	}
	for _, row := range rows {
		shown, err := a.Shower.Owned(ctx, "", ownedOf(row))
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(shown.Name, name) {
			ids = append(ids, shown.ID)
		}
	}
	return ids, nil
}
