package app

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/rates"
)

// defaultConcurrency is for free accounts alone: who pays is limited by characters, and who does not should not keep the
// engines from those who do. Four is what a voice dialogue needs (one reply playing, the next ones being made) with some
// to spare, and as much as the most generous free plans of other services have.
var defaultConcurrency = map[plan.Type]int{plan.Free: 4}

// concurrency is how many syntheses of an account may run at once, by plan; 0 is no limit.
func (c Config) concurrency() (map[plan.Type]int, error) {
	return byPlan("concurrency limit", c.Concurrency, defaultConcurrency)
}

// defaultRates are far above what people and programs need that use what they get: a free account that spends its
// characters in sentences makes some 200 requests a month. They bound what an account can write to the log, which stays
// there for ever.
var defaultRates = map[plan.Type]int{plan.Free: 50, plan.Indie: 500, plan.Pro: 500, plan.Premium: 500, plan.Enterprise: 500}

// rates are how many requests a second may append to the log.
func (c Config) rates() (rates.Limits, error) {
	accounts, err := byPlan("rate", c.AccountRate, defaultRates)
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
	m.when(c.AddressRate < 0, "address-rate", "the rate of an address cannot be negative")
	m.when(c.FailureRate < 0, "failure-rate", "the rate of wrong credentials cannot be negative")
}

// byPlan reads PLAN=NUMBER,… into a copy of the defaults; 0 is no limit.
func byPlan(what, setting string, defaults map[plan.Type]int) (map[plan.Type]int, error) {
	limits := maps.Clone(defaults)
	named := map[plan.Type]bool{}
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
		if named[terms.Type] {
			return nil, fmt.Errorf("the %s of plan %s is set twice", what, terms.Type)
		}
		named[terms.Type], limits[terms.Type] = true, limit
	}
	return limits, nil
}
