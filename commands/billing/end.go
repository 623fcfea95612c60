package billing

import (
	"context"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/subscription"
)

// EndFor ends what an account that is closed has at the provider. It may be repeated.
func (b *Billing) EndFor(ctx context.Context, account string) error {
	origin := journal.System()
	state, _, err := b.observe(ctx, account, origin)
	if err != nil || state.Account == "" {
		return err
	}
	if state.Open != nil {
		done, err := b.complete(ctx, *state.Open, origin)
		if err != nil && !refused(err) {
			return err
		}
		state = done.state
	}
	if state.Ending && len(state.Unfinished()) == 0 {
		return nil
	}
	_, err = b.request(ctx, subscription.Request{Account: account, Kind: subscription.End}, domain.Repetition{}, origin)
	return err
}
