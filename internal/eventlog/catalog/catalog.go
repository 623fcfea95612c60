// Package catalog is the one list of every event type that this binary writes and reads.
package catalog

import (
	"slices"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
)

// Registry holds every event type. A new type, or a new version of one, also gets an example and a golden file; see
// the package's test.
func Registry() (*eventlog.Registry, error) {
	return eventlog.NewRegistry(slices.Concat(
		logTypes(),
		accountTypes(),
		usageTypes(),
		alertTypes(),
		clipTypes(),
		feedbackTypes(),
	)...)
}

func logTypes() []eventlog.Type {
	return []eventlog.Type{eventlog.LogOpenedType()}
}

func accountTypes() []eventlog.Type {
	return []eventlog.Type{
		eventlog.Define[account.Opened]("account-opened", 1),
		eventlog.Define[account.APIKeyCreated]("account-api-key-created", 1),
		eventlog.Define[account.APIKeyRevoked]("account-api-key-revoked", 1),
	}
}

func usageTypes() []eventlog.Type {
	return []eventlog.Type{
		eventlog.Define[ledger.PeriodOpened]("usage-period-opened", 1),
		eventlog.Define[ledger.Reserved]("usage-reserved", 1),
		eventlog.Define[ledger.Settled]("usage-settled", 1),
		eventlog.Define[ledger.Expired]("usage-expired", 1),
		eventlog.Define[ledger.Summed]("usage-summed", 1),
		eventlog.Define[ledger.CreditGranted]("usage-credit-granted", 1),
		eventlog.Define[ledger.CreditCarried]("usage-credit-carried", 1),
		eventlog.Define[ledger.CreditSummed]("usage-credit-summed", 1),
	}
}

func alertTypes() []eventlog.Type {
	return []eventlog.Type{eventlog.Define[alert.Raised]("alert-raised", 1)}
}

func clipTypes() []eventlog.Type {
	return []eventlog.Type{
		eventlog.Define[clip.Saved]("clip-saved", 1),
		eventlog.Define[clip.Deleted]("clip-deleted", 1),
	}
}

func feedbackTypes() []eventlog.Type {
	return []eventlog.Type{eventlog.Define[feedback.Given]("feedback-given", 1)}
}
