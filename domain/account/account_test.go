package account_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

type (
	row    = spec.Case[account.State, account.Event]
	events = []account.Event
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func opened() account.Event {
	return account.Opened{Account: "a1", Plan: plan.Free, At: noon}
}

func key(hash, masked string) account.Event {
	return account.APIKeyCreated{Account: "a1", Hash: hash, Masked: masked, At: noon}
}

func revoked(hash, masked string) account.Event {
	return account.APIKeyRevoked{Account: "a1", Hash: hash, Masked: masked, At: noon}
}

// free is the last free period of a closed account.
var free = &account.FreePeriod{Start: noon.AddDate(0, 0, -10), End: noon.AddDate(0, 0, 20), Used: 14_000}

func closed() account.Event { return account.Closed{Account: "a1", At: noon} }

func TestOpen(t *testing.T) {
	byPerson := account.Open{Account: "a1", Plan: plan.Free, Identity: "i1", FreePeriod: free, At: noon}
	backwards := byPerson
	backwards.FreePeriod = &account.FreePeriod{Start: noon, End: noon}
	operators := account.OpenOperator{Open: account.Open{Account: "a1", Plan: plan.Free, At: noon}, By: "recitald"}
	owing := byPerson
	owing.FreePeriod = &account.FreePeriod{Start: noon, End: noon.Add(1), Used: -1}
	spec.Run(t, account.Evolve, []row{
		{Name: "a person's account knows what another one left", When: byPerson, Then: events{account.Opened(byPerson)}},
		{Name: "opening a person's account again changes nothing",
			Given: events{account.Opened{Account: "a1", Plan: plan.Pro, Identity: "i1", At: noon}}, When: byPerson},
		{Name: "another person's account is not opened again",
			Given: events{account.Opened{Account: "a1", Plan: plan.Free, Identity: "i2", At: noon}},
			When:  byPerson, Refused: domain.Conflict},
		{Name: "a closed account is not opened again", Given: events{account.Opened(byPerson), closed()}, When: byPerson,
			Refused: domain.Unauthenticated},
		{Name: "a free period ends after its start", When: backwards, Refused: domain.Invalid},
		{Name: "a free period is not used less than nothing", When: owing, Refused: domain.Invalid},
		{Name: "an account opens on its plan", When: account.Open{Account: "a1", Plan: plan.Free, At: noon},
			Then: events{opened()}},
		{Name: "opening it again changes nothing", Given: events{opened()}, When: account.Open{Account: "a1", Plan: plan.Free,
			At: noon.Add(1)}},
		{Name: "nor does it where a plan was bought since",
			Given: events{opened(), account.Entitled{Account: "a1", Entitlement: bought(plan.Pro, 1), Version: 1, At: noon}},
			When:  account.Open{Account: "a1", Plan: plan.Free, At: noon}},
		{Name: "it cannot be opened again on another plan", Given: events{opened()},
			When: account.Open{Account: "a1", Plan: plan.Pro, At: noon}, Refused: domain.Conflict},
		{Name: "the plan must be known", When: account.Open{Account: "a1", Plan: "golden", At: noon},
			Refused: domain.Invalid},
		{Name: "an operator's has the role from its beginning", When: operators,
			Then: events{opened(), account.OperatorGranted{Account: "a1", By: "recitald", At: noon}}},
		{Name: "opening it again does not give the role back", When: operators,
			Given: events{opened(), account.OperatorGranted{Account: "a1", At: noon},
				account.OperatorWithdrawn{Account: "a1", At: noon}}},
		{Name: "nor does it open an operator's account anew", Given: events{opened(), closed()}, When: operators,
			Refused: domain.Unauthenticated},
	})
}

func TestCreateAPIKey(t *testing.T) {
	full := events{opened()}
	for i := range account.MaxKeys {
		full = append(full, key(fmt.Sprint("h", i), fmt.Sprint("m", i)))
	}
	spec.Run(t, account.Evolve, []row{
		{Name: "a key is added", Given: events{opened()}, When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon},
			Then: events{key("h1", "m1")}},
		{Name: "adding it again changes nothing", Given: events{opened(), key("h1", "m1")},
			When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon}},
		{Name: "masked forms are unique", Given: events{opened(), key("h1", "m1")},
			When: account.CreateAPIKey{Hash: "h2", Masked: "m1", At: noon}, Refused: domain.Conflict},
		{Name: "the number of keys is bounded", Given: full, When: account.CreateAPIKey{Hash: "h", Masked: "m", At: noon},
			Refused: domain.Denied},
		{Name: "another key may look like a revoked one", Given: events{opened(), key("h1", "m1"), revoked("h1", "m1")},
			When: account.CreateAPIKey{Hash: "h2", Masked: "m1", At: noon}, Then: events{key("h2", "m1")}},
		{Name: "a revoked key makes room for another", Given: append(full[:len(full):len(full)], revoked("h3", "m3")),
			When: account.CreateAPIKey{Hash: "h", Masked: "m", At: noon}, Then: events{key("h", "m")}},
		{Name: "there must be an account", When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon},
			Refused: domain.NotFound},
		{Name: "not in a closed account", Given: events{opened(), closed()},
			When: account.CreateAPIKey{Hash: "h1", Masked: "m1", At: noon}, Refused: domain.Unauthenticated},
		{Name: "a name must be valid", Given: events{opened()}, When: account.CreateAPIKey{Hash: "h1", Masked: "m1",
			Name: "a\nb", At: noon}, Refused: domain.Invalid},
	})
}

func TestRevokeAPIKey(t *testing.T) {
	two := events{opened(), key("h1", "m1"), key("h2", "m2")}
	spec.Run(t, account.Evolve, []row{
		{Name: "a key is revoked", Given: two, When: account.RevokeAPIKey{Masked: "m1", At: noon},
			Then: events{revoked("h1", "m1")}},
		{Name: "the last key, too", Given: append(two[:3:3], revoked("h1", "m1")),
			When: account.RevokeAPIKey{Masked: "m2", At: noon},
			Then: events{revoked("h2", "m2")}},
		{Name: "not a second time", Given: append(two[:3:3], revoked("h1", "m1")),
			When: account.RevokeAPIKey{Masked: "m1", At: noon}, Refused: domain.NotFound},
		{Name: "of two that look alike, the one that lives", Given: append(two[:3:3], revoked("h1", "m1"), key("h3", "m1")),
			When: account.RevokeAPIKey{Masked: "m1", At: noon}, Then: events{revoked("h3", "m1")}},
		{Name: "not one that never was", Given: two, When: account.RevokeAPIKey{Masked: "m3", At: noon},
			Refused: domain.NotFound},
		{Name: "not where no account is", When: account.RevokeAPIKey{Masked: "m1", At: noon}, Refused: domain.NotFound},
	})
}

func TestRenameAPIKey(t *testing.T) {
	one := events{opened(), key("h1", "m1")}
	named := account.APIKeyRenamed{Account: "a1", Hash: "h1", Masked: "m1", SealedName: []byte("laptop"), At: noon}
	rename := func(masked, name string) account.RenameAPIKey {
		return account.RenameAPIKey{Masked: masked, Name: name, SealedName: []byte(name), At: noon}
	}
	longest := strings.Repeat("é", account.MaxKeyName)
	spec.Run(t, account.Evolve, []row{
		{Name: "a key gets a name", Given: one, When: rename("m1", "laptop"), Then: events{named}},
		{Name: "the same name changes nothing", Given: append(one[:2:2], named), When: rename("m1", "laptop")},
		{Name: "a name may be long", Given: one, When: rename("m1", longest),
			Then: events{account.APIKeyRenamed{Account: "a1", Hash: "h1", Masked: "m1", SealedName: []byte(longest), At: noon}}},
		{Name: "not longer", Given: one, When: rename("m1", longest+"x"), Refused: domain.Invalid},
		{Name: "not empty", Given: one, When: rename("m1", ""), Refused: domain.Invalid},
		{Name: "not with a control character", Given: one, When: rename("m1", "a\u0085"), Refused: domain.Invalid},
		{Name: "not one of blanks", Given: one, When: rename("m1", "\u00a0 \u3000"), Refused: domain.Invalid},
		{Name: "not one of bidi controls", Given: one, When: rename("m1", "\u202e\u2066"), Refused: domain.Invalid},
		{Name: "not one without any width", Given: one, When: rename("m1", "\u200b\u2060\ufe0f\u3164"),
			Refused: domain.Invalid},
		{Name: "not text that is none", Given: one, When: rename("m1", "\xff"), Refused: domain.Invalid},
		{Name: "not a key that never was", Given: one, When: rename("m2", "laptop"), Refused: domain.NotFound},
		{Name: "not a revoked key", Given: append(one[:2:2], revoked("h1", "m1")), When: rename("m1", "laptop"),
			Refused: domain.NotFound},
		{Name: "not in a closed account", Given: append(one[:2:2], closed()), When: rename("m1", "laptop"),
			Refused: domain.Unauthenticated},
	})
}

func TestRecordProfile(t *testing.T) {
	profile := account.RecordProfile{Name: []byte{1}, Email: []byte{2}, Picture: []byte{3}, EmailHash: "e", Digest: "d",
		At: noon}
	recorded := account.ProfileRecorded{Account: "a1", Name: []byte{1}, Email: []byte{2}, Picture: []byte{3},
		EmailHash: "e", Digest: "d", At: noon}
	sealedAgain, changed, nameless := profile, profile, profile
	sealedAgain.Name, changed.Digest, nameless.Name = []byte{9}, "d2", nil
	moved := recorded
	moved.Digest = "d2"
	spec.Run(t, account.Evolve, []row{
		{Name: "a profile is recorded", Given: events{opened()}, When: profile, Then: events{recorded}},
		{Name: "nothing has changed, though it was sealed again", Given: events{opened(), recorded}, When: sealedAgain},
		{Name: "something has changed", Given: events{opened(), recorded}, When: changed, Then: events{moved}},
		{Name: "a profile has a name", Given: events{opened()}, When: nameless, Refused: domain.Invalid},
		{Name: "not where no account is", When: profile, Refused: domain.NotFound},
		{Name: "not in a closed account", Given: events{opened(), closed()}, When: profile, Refused: domain.Unauthenticated},
	})
}

func TestPreferences(t *testing.T) {
	accepted := account.TermsAccepted{Account: "a1", At: noon}
	wants := func(yes bool) account.Event {
		return account.EmailPreferencesSet{Account: "a1", WantsEmail: yes, At: noon}
	}
	set := func(yes bool) account.SetEmailPreferences {
		return account.SetEmailPreferences{WantsEmail: yes, At: noon}
	}
	spec.Run(t, account.Evolve, []row{
		{Name: "the terms are accepted", Given: events{opened()}, When: account.AcceptTerms{At: noon},
			Then: events{accepted}},
		{Name: "once", Given: events{opened(), accepted}, When: account.AcceptTerms{At: noon}},
		{Name: "not by nobody", When: account.AcceptTerms{At: noon}, Refused: domain.NotFound},
		{Name: "not after the closing", Given: events{opened(), closed()}, When: account.AcceptTerms{At: noon},
			Refused: domain.Unauthenticated},
		{Name: "no e-mail is a preference, too", Given: events{opened()}, When: set(false), Then: events{wants(false)}},
		{Name: "the same changes nothing", Given: events{opened(), wants(true)}, When: set(true)},
		{Name: "it can be changed", Given: events{opened(), wants(true)}, When: set(false), Then: events{wants(false)}},
		{Name: "e-mail for nobody", When: set(true), Refused: domain.NotFound},
		{Name: "e-mail after the closing", Given: events{opened(), closed()}, When: set(true),
			Refused: domain.Unauthenticated},
	})
}

func TestOperators(t *testing.T) {
	granted := account.OperatorGranted{Account: "a1", By: "ada", At: noon}
	withdrawn := account.OperatorWithdrawn{Account: "a1", By: "ada", At: noon}
	grant, withdraw := account.GrantOperator{By: "ada", At: noon}, account.WithdrawOperator{By: "ada", At: noon}
	spec.Run(t, account.Evolve, []row{
		{Name: "the role is granted", Given: events{opened()}, When: grant, Then: events{granted}},
		{Name: "once", Given: events{opened(), granted}, When: grant},
		{Name: "it is withdrawn", Given: events{opened(), granted}, When: withdraw, Then: events{withdrawn}},
		{Name: "once, too", Given: events{opened(), granted, withdrawn}, When: withdraw},
		{Name: "it can be granted again", Given: events{opened(), granted, withdrawn}, When: grant, Then: events{granted}},
		{Name: "nobody is no operator", When: grant, Refused: domain.NotFound},
		{Name: "a closed account is no operator", Given: events{opened(), closed()}, When: grant, Refused: domain.Rejected},
		{Name: "nobody was no operator", When: withdraw, Refused: domain.NotFound},
	})
}

func TestRevokeSessions(t *testing.T) {
	spec.Run(t, account.Evolve, []row{
		{Name: "all that were opened until now", Given: events{opened()}, When: account.RevokeSessions{At: noon},
			Then: events{account.SessionsRevoked{Account: "a1", At: noon}}},
		{Name: "a slow clock brings none back", Given: events{opened(),
			account.SessionsRevoked{Account: "a1", At: noon.Add(1)}}, When: account.RevokeSessions{At: noon},
			Then: events{account.SessionsRevoked{Account: "a1", At: noon.Add(1)}}},
		{Name: "not where no account is", When: account.RevokeSessions{At: noon}, Refused: domain.NotFound},
		{Name: "not in a closed account", Given: events{opened(), closed()}, When: account.RevokeSessions{At: noon},
			Refused: domain.Unauthenticated},
	})
}

func TestClose(t *testing.T) {
	erased := account.Erased{Account: "a1", AgainAt: noon.Add(1), At: noon}
	repeated := account.ErasureRepeated{Account: "a1", At: noon.Add(1)}
	erase, again := account.RecordErasure{At: noon, AgainAt: noon.Add(1)}, account.RecordRepeatedErasure{At: noon.Add(1)}
	spec.Run(t, account.Evolve, []row{
		{Name: "an account is closed, and its keys end with it", Given: events{opened(), key("h1", "m1"), key("h2", "m2")},
			When: account.Close{At: noon},
			Then: events{revoked("h1", "m1"), revoked("h2", "m2"), closed()}},
		{Name: "without keys, too", Given: events{opened()}, When: account.Close{At: noon}, Then: events{closed()}},
		{Name: "closing it again changes nothing", Given: events{opened(), closed(), erased}, When: account.Close{At: noon}},
		{Name: "there must be an account", When: account.Close{At: noon}, Refused: domain.NotFound},
		{Name: "what a closed account had is erased", Given: events{opened(), closed()}, When: erase, Then: events{erased}},
		{Name: "that is recorded once", Given: events{opened(), closed(), erased}, When: erase},
		{Name: "also after the end", Given: events{opened(), closed(), erased, repeated}, When: erase},
		{Name: "an open account is not erased", Given: events{opened()}, When: erase, Refused: domain.Rejected},
		{Name: "it is erased again", Given: events{opened(), closed(), erased}, When: again, Then: events{repeated}},
		{Name: "not before its time", Given: events{opened(), closed(), erased},
			When: account.RecordRepeatedErasure{At: noon}},
		{Name: "and that is the end", Given: events{opened(), closed(), erased, repeated}, When: again},
		{Name: "not before it was erased", Given: events{opened(), closed()}, When: again, Refused: domain.Rejected},
	})
}

func TestSetSpendingCap(t *testing.T) {
	set := func(amount *int64, currency string) account.SetSpendingCap {
		return account.SetSpendingCap{Amount: amount, Currency: currency, At: noon}
	}
	is := func(amount *int64, currency string, version int64) account.Event {
		return account.SpendingCapSet{Account: "a1", SpendingCap: plan.SpendingCap{Amount: amount, Currency: currency,
			Version: version}, At: noon}
	}
	five, most := new(int64(5)), int64(plan.MaxSpendingCap)
	given := events{opened(), is(five, "usd", 1)}
	spec.Run(t, account.Evolve, []row{
		{Name: "it is set", Given: given[:1], When: set(five, "usd"), Then: given[1:]},
		{Name: "once", Given: given, When: set(new(int64(5)), "usd")},
		{Name: "in another currency it is another one", Given: given, When: set(five, "jpy"),
			Then: events{is(five, "jpy", 2)}},
		{Name: "0 is a cap", Given: given[:1], When: set(new(int64(0)), "usd"), Then: events{is(new(int64(0)), "usd", 1)}},
		{Name: "it is taken away", Given: given, When: set(nil, "usd"), Then: events{is(nil, "", 2)}},
		{Name: "where there is one", Given: given[:1], When: set(nil, "usd")},
		{Name: "the largest", Given: given[:1], When: set(&most, "usd"), Then: events{is(&most, "usd", 1)}},
		{Name: "and no larger one", Given: given[:1], When: set(new(most+1), "usd"), Refused: domain.Invalid},
		{Name: "nor a negative one", Given: given[:1], When: set(new(int64(-1)), "usd"), Refused: domain.Invalid},
		{Name: "a closed account has none", Given: append(given, closed()), When: set(nil, ""),
			Refused: domain.Unauthenticated},
	})
}
