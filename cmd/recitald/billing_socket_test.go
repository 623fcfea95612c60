package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// An open socket uses a new plan as soon as the account shows it.
func TestAnOpenSocketFollowsThePlan(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	b := openPaymentProvider(t)
	s := b.serve(dataFolder(t))
	c := s.openAccount("free")
	speak := func() {
		require.Equal(t, 200, c.post(t, detailedRoute, order{"text": prose(4990), "voice": "leah", "speed": 2}).status)
	}
	speak()
	speak() // before the sockets are opened, because they answer no pings during it
	silent, refused := c.talk(t, order{"format": "pcm_s16le"}), c.talk(t, order{"format": "pcm_s16le"})
	silent.say("Hello.", 1)
	silent.send(order{"type": "flush", "nonce": 1})
	silent.until("flush_complete")

	// given a free account that has used up its period, so that its sockets are refused
	speak()
	refused.say("There is no room for as much as this is.", 1)
	refused.send(order{"type": "flush", "nonce": 1})
	refused.end()
	require.NotEmpty(t, refused.fault)

	// when it buys a plan
	b.pays(c.subscribe(t, "indie").ClientSecret, "pm_card_visa")
	c.awaitPlan(t, plan.Indie)

	// then the other socket speaks, in the new plan's period
	silent.say("There is room for as much as this is, and more.", 1)
	silent.send(order{"type": "flush", "nonce": 2})
	silent.until("flush_complete")
	require.Empty(t, silent.fault)
	require.Eventually(t, func() bool { return c.account(t).Usage.Characters == 47 }, patience, pause)
}
