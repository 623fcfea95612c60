package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
)

// usageChecker checks the ledger: the billed characters are at least those of complete replies, and at most those of
// all replies.
type usageChecker struct {
	stormClient
	c              customer
	sure, possible int64          // characters of complete and of interrupted replies
	outcomes       map[string]int // replies, by status
}

func newUsageChecker(at *server, v stormClient) *usageChecker { return newUsageCheckerOn("pro", at, v) }

func newUsageCheckerOn(plan string, at *server, v stormClient) *usageChecker {
	return &usageChecker{stormClient: v, c: at.openAccount(plan), outcomes: map[string]int{}}
}

func (p *usageChecker) work(at *server, r *rand.Rand) error {
	kinds := []speech{{bytesRoute, "mp3", 600}, {bytesRoute, "pcm_s16le", 300}, {detailedRoute, "wav", 150}}
	return p.speak(at, kinds[r.IntN(len(kinds))])
}

func (p *usageChecker) speak(at *server, s speech) error { return p.count(p.c.at(at).try(p.client, s)) }

// count records the characters of a reply.
func (p *usageChecker) count(a attempt) error {
	s := a.speech
	switch {
	case a.clean():
		p.outcomes["whole"]++
		p.sure += s.characters
	case a.status == http.StatusUnauthorized:
		return fmt.Errorf("the key of %s was refused: %s", p.c.id, a.body)
	case a.status == 0 && errors.Is(a.err, syscall.ECONNREFUSED):
		p.outcomes["not connected"]++
	case a.status == 0 || a.status == http.StatusOK:
		p.outcomes["cut"]++
		p.possible += s.characters
	default: // refusals are not billed
		p.outcomes[fmt.Sprint(a.status)]++
	}
	return nil
}

func (p *usageChecker) check(at *server, b books) error {
	billed := b.charactersOf(p.c.id)
	if billed < p.sure || billed > p.sure+p.possible {
		return fmt.Errorf("%s is billed %d characters, want at least %d and at most %d more", p.c.id, billed, p.sure,
			p.possible)
	}
	var shown accountView
	err := p.read(p.c.at(at), "/v1/account", &shown)
	if err == nil && shown.Usage.Characters != billed {
		err = fmt.Errorf("%s is shown %d characters, but billed %d", p.c.id, shown.Usage.Characters, billed)
	}
	return err
}

func (p *usageChecker) customers() []customer { return []customer{p.c} }

func (p *usageChecker) String() string {
	return fmt.Sprintf("usage: %d characters surely and %d possibly spoken; replies %v", p.sure, p.possible, p.outcomes)
}

// freeCharacters is the quota of a free account.
const freeCharacters = 15_000

// quotaChecker checks quotas: a quota can be used to the last character, and not exceeded.
type quotaChecker struct{ *usageChecker }

func newQuotaChecker(at *server, v stormClient) quotaChecker {
	return quotaChecker{newUsageCheckerOn("free", at, v)}
}

func (p quotaChecker) work(at *server, r *rand.Rand) error {
	return p.speak(at, speech{bytesRoute, "mp3", int64(10 + r.IntN(200))})
}

// settle uses up the quota, and checks that every instance refuses more.
func (p quotaChecker) settle(at []*server, b books) error {
	used := b.charactersOf(p.c.id)
	for i := 0; used < freeCharacters; i++ {
		next := speech{bytesRoute, "mp3", min(freeCharacters-used, 4_000)}
		if a := p.c.at(at[i%len(at)]).try(p.client, next); !a.clean() {
			return fmt.Errorf("%d of the last %d characters of %s are refused: %d %s %v",
				next.characters, freeCharacters-used, p.c.id, a.status, a.body, a.err)
		}
		p.sure += next.characters
		used += next.characters
	}
	for _, one := range at {
		if a := p.c.at(one).try(p.client, speech{bytesRoute, "mp3", 1}); a.status != http.StatusPaymentRequired {
			return fmt.Errorf("%s can exceed its quota: %d", p.c.id, a.status)
		}
	}
	return nil
}

func (p quotaChecker) check(at *server, b books) error {
	if billed := b.charactersOf(p.c.id); billed != freeCharacters {
		return fmt.Errorf("%s is billed %d characters, want %d", p.c.id, billed, freeCharacters)
	}
	return p.usageChecker.check(at, b)
}

func (p quotaChecker) String() string { return "quota, " + p.usageChecker.String() }
