package keyring_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/keyring"
	"github.com/recital-tts/recital/domain/spec"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestTheKeyringOfALog(t *testing.T) {
	type events = []keyring.Event
	adopted := keyring.Adopted{Keyring: "k1", At: noon}
	abandoned := keyring.Abandoned{Keyring: "k1", Successor: "k2", At: noon}
	spec.Run(t, keyring.Evolve, []spec.Case[keyring.State, keyring.Event]{
		{Name: "the first is adopted", When: keyring.Adopt(adopted), Then: events{adopted}},
		{Name: "once", Given: events{adopted}, When: keyring.Adopt{Keyring: "k1", At: noon.Add(time.Hour)}},
		{Name: "another is refused", Given: events{adopted}, When: keyring.Adopt{Keyring: "k2", At: noon},
			Refused: domain.Rejected},
		{Name: "it is abandoned for another", Given: events{adopted}, When: keyring.Abandon(abandoned),
			Then: events{abandoned}},
		{Name: "which is the log's from then on", Given: events{adopted, abandoned},
			When: keyring.Adopt{Keyring: "k2", At: noon}},
		{Name: "and not the first", Given: events{adopted, abandoned}, When: keyring.Adopt(adopted),
			Refused: domain.Rejected},
		{Name: "it is abandoned once", Given: events{adopted, abandoned}, When: keyring.Abandon(abandoned)},
		{Name: "and not for itself", Given: events{adopted}, When: keyring.Abandon{Keyring: "k1", Successor: "k1", At: noon},
			Refused: domain.Rejected},
		{Name: "one that was never the log's cannot be abandoned", Given: events{adopted, abandoned},
			When: keyring.Abandon{Keyring: "k0", Successor: "k2", At: noon}, Refused: domain.Rejected},
		{Name: "only the log's can be abandoned", Given: events{adopted},
			When: keyring.Abandon{Keyring: "k0", Successor: "k2", At: noon}, Refused: domain.Rejected},
	})
}
