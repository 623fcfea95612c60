package app

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/rates"
)

// concurrency is how many syntheses of an account may run at once, by plan; 0 is no limit. The default limits free
// accounts alone: who pays is limited by characters, and who does not should not keep the engines from those who do.
// Four is what a voice dialogue needs (one reply playing, the next ones being made) with some to spare, and as much as
// the most generous free plans of other services have.
func (c Config) concurrency() (map[plan.Type]int, error) {
	return byPlan("concurrency limit", "Concurrency", c.Concurrency)
}

// rates are how many requests a second may append to the log. The defaults are far above what people and programs need
// that use what they get: a free account that spends its characters in sentences makes some 200 requests a month. They
// bound what an account can write to the log, which stays there for ever.
func (c Config) rates() (rates.Limits, error) {
	accounts, err := byPlan("rate", "AccountRate", c.AccountRate)
	limits := rates.Limits{Accounts: map[string]int{}, Address: c.AddressRate, Failures: c.FailureRate}
	for plan, rate := range accounts {
		limits.Accounts[string(plan)] = rate
	}
	return limits, err
}

func (c Config) checkRates(m *Mistakes) {
	_, err := c.concurrency()
	m.add("concurrency", err)
	_, err = c.rates()
	m.add("account-rate", err)
}

// byPlan reads PLAN=NUMBER,… of a setting over its default; 0 is no limit.
func byPlan(what, field, setting string) (map[plan.Type]int, error) {
	declared, _ := reflect.TypeFor[Config]().FieldByName(field)
	limits, err := readByPlan(what, declared.Tag.Get("default"))
	if err != nil {
		return nil, err
	}
	named, err := readByPlan(what, setting)
	maps.Copy(limits, named)
	return limits, err
}

func readByPlan(what, setting string) (map[plan.Type]int, error) {
	limits := map[plan.Type]int{}
	for entry := range strings.SplitSeq(setting, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, number, _ := strings.Cut(entry, "=")
		terms, err := plan.Lookup(plan.Type(strings.TrimSpace(name)))
		if err != nil {
			return nil, fmt.Errorf("the %s %q: %w", what, entry, err)
		}
		limit, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || limit < 0 {
			return nil, fmt.Errorf("the %s %q is not PLAN=NUMBER, where 0 is no limit", what, entry)
		}
		if _, named := limits[terms.Type]; named {
			return nil, fmt.Errorf("the %s of plan %s is set twice", what, terms.Type)
		}
		limits[terms.Type] = limit
	}
	return limits, nil
}
