package subscription_test

import (
	"testing"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/subscription"
)

func TestALossIsRecordedOnce(t *testing.T) {
	loss := subscription.RecordLoss{Account: "a1", Object: "ii_1", Reason: subscription.BelowMinimum, Characters: 9000,
		Amount: 45, Currency: "usd", At: noon}
	nothing := loss
	nothing.Amount = 0
	spec.Run(t, subscription.Evolve, []row{
		{Name: "once", Given: active, When: loss, Then: events{subscription.Lost(loss)}},
		{Name: "again", Given: append(active, subscription.Lost(loss)), When: loss},
		{Name: "nothing", Given: active, When: nothing, Refused: domain.Invalid},
	})
}
