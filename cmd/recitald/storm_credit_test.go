package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// creditChecker checks credit: a grant counts once, even if it is repeated at several instances.
type creditChecker struct {
	stormClient
	c         customer
	sure      int64            // characters of the grants that were confirmed
	confirmed map[string]int64 // by grant
	doubtful  map[string]int64 // the others
}

// stormGrants is less than the maximum number of grants in a period.
const stormGrants = 500

func newCreditChecker(at *server, v stormClient) *creditChecker {
	return &creditChecker{
		stormClient: v, c: at.openAccount("free"), confirmed: map[string]int64{}, doubtful: map[string]int64{},
	}
}

func (p *creditChecker) work(at *server, r *rand.Rand) error {
	again := slices.Sorted(maps.Keys(p.confirmed))
	switch {
	case len(p.doubtful) > 3:
		return p.grant(at, slices.Min(slices.Collect(maps.Keys(p.doubtful))))
	case len(again) == stormGrants, len(again) > 0 && r.IntN(3) == 0:
		return p.grant(at, again[r.IntN(len(again))])
	}
	grant := fmt.Sprintf("grant-%016x", r.Uint64())
	p.doubtful[grant] = int64(1 + r.IntN(1_000))
	return p.grant(at, grant)
}

// grant makes or repeats a grant.
func (p *creditChecker) grant(at *server, grant string) error {
	characters, again := p.confirmed[grant]
	if !again {
		characters = p.doubtful[grant]
	}
	granted, err := p.request(at, grant, characters)
	if err != nil || granted.Grant == "" {
		return err
	}
	if !again {
		delete(p.doubtful, grant)
		p.confirmed[grant] = characters
		p.sure += characters
	}
	if most := p.sure + p.unconfirmed(); granted.Left < p.sure || granted.Left > most {
		return fmt.Errorf("%s has %d characters of credit after a grant; %d to %d were granted", p.c.id, granted.Left, p.sure,
			most)
	}
	return nil
}

func (p *creditChecker) unconfirmed() (characters int64) {
	for _, one := range p.doubtful {
		characters += one
	}
	return characters
}

type grantReply struct {
	Grant string `json:"grant"`
	Left  int64  `json:"credit_characters"`
}

// request returns an empty reply if there was none, or if an instance is unavailable.
func (p *creditChecker) request(at *server, grant string, characters int64) (granted grantReply, err error) {
	body := fmt.Sprintf(`{"grant":%q,"characters":%d}`, grant, characters)
	answer, failed := p.ask(at.adminRequest(http.MethodPost, "/admin/accounts/"+p.c.id+"/credit", body))
	switch {
	case failed != nil || answer.status >= 500:
		return grantReply{}, nil
	case answer.status != http.StatusOK:
		return grantReply{}, fmt.Errorf("a grant to %s returns %d: %s", p.c.id, answer.status, answer.text())
	}
	return granted, json.Unmarshal(answer.body, &granted)
}

// settle repeats unconfirmed grants.
func (p *creditChecker) settle(at []*server, _ books) error {
	for end := time.Now().Add(calm); len(p.doubtful) > 0; {
		if time.Now().After(end) {
			return fmt.Errorf("grants to %s are not confirmed", p.c.id)
		}
		for grant := range p.doubtful {
			if err := p.grant(at[0], grant); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *creditChecker) check(at *server, b books) error {
	return p.stormClient.requireCredit(p.c.at(at), b, p.sure)
}

// requireCredit returns an error unless both the log and an instance show the given remaining credit.
func (v stormClient) requireCredit(c customer, b books, characters int64) error {
	left := int64(0)
	for _, period := range b.periods {
		if period.Terms.Account == c.id {
			left += period.CreditLeft()
		}
	}
	if left != characters {
		return fmt.Errorf("%s has %d characters of credit in the log, want %d", c.id, left, characters)
	}
	var shown accountView
	if err := v.read(c, "/v1/account", &shown); err != nil {
		return err
	}
	if credit := shown.Usage.Credit; credit == nil || *credit != characters {
		return fmt.Errorf("%s is shown other credit than %d characters: %+v", c.id, characters, shown.Usage)
	}
	return nil
}

func (p *creditChecker) customers() []customer { return []customer{p.c} }

func (p *creditChecker) String() string {
	return fmt.Sprintf("credit: %d grants, %d characters", len(p.confirmed), p.sure)
}
