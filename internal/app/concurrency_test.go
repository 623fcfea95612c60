package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
)

func TestConcurrencyLimits(t *testing.T) {
	for set, want := range map[string]map[plan.Type]int{
		"":                          {plan.Free: 4},
		"free=0":                    {plan.Free: 0},
		"indie=10":                  {plan.Free: 4, plan.Indie: 10},
		" free = 1 , enterprise=2,": {plan.Free: 1, plan.Enterprise: 2},
	} {
		limits, err := Config{Concurrency: set}.concurrency()
		require.NoError(t, err, set)
		require.Equal(t, want, limits, set)
	}
}
