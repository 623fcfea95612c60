package app

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
)

func TestConcurrencyLimits(t *testing.T) {
	setting, _ := reflect.TypeFor[Config]().FieldByName("Concurrency")
	for set, want := range map[string]map[plan.Type]int{
		"":                          defaultConcurrency,
		setting.Tag.Get("default"):  defaultConcurrency, // what --help shows
		"free=0":                    {plan.Free: 0},
		"indie=10":                  {plan.Free: 4, plan.Indie: 10},
		" free = 1 , enterprise=2,": {plan.Free: 1, plan.Enterprise: 2},
	} {
		limits, err := Config{Concurrency: set}.concurrency()
		require.NoError(t, err, set)
		require.Equal(t, want, limits, set)
	}
}
