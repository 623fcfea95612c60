package app

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/recital-tts/recital/domain/plan"
)

// defaultConcurrency is for free accounts alone: who pays is limited by characters, and who does not should not keep the
// engines from those who do. Four is what a voice dialogue needs (one reply playing, the next ones being made) with some
// to spare, and as much as the most generous free plans of other services have.
var defaultConcurrency = map[plan.Type]int{plan.Free: 4}

// concurrency is how many syntheses of an account may run at once, by plan; 0 is no limit.
func (c Config) concurrency() (map[plan.Type]int, error) {
	limits := maps.Clone(defaultConcurrency)
	named := map[plan.Type]bool{}
	for entry := range strings.SplitSeq(c.Concurrency, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		name, number, _ := strings.Cut(entry, "=")
		terms, err := plan.Lookup(plan.Type(strings.TrimSpace(name)))
		if err != nil {
			return nil, fmt.Errorf("the concurrency limit %q: %w", entry, err)
		}
		limit, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || limit < 0 {
			return nil, fmt.Errorf("the concurrency limit %q is not PLAN=NUMBER, where 0 is no limit", entry)
		}
		if named[terms.Type] {
			return nil, fmt.Errorf("the concurrency limit of plan %s is set twice", terms.Type)
		}
		named[terms.Type], limits[terms.Type] = true, limit
	}
	return limits, nil
}
