package accounts_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	created := account.APIKeyCreated{Account: "a1", Hash: "9f86d081", Masked: "rk_abcd****wxyz", Name: "build server", At: noon}
	issued := created
	issued.Issued = true
	eventtest.Golden(t, accounts.Events(),
		eventtest.Of("account-opened", 1, account.Opened{Account: "a1", Plan: plan.Free, At: noon}),
		eventtest.Of("account-api-key-created", 1, created),
		eventtest.Of("account-api-key-created", 1, issued).As("issued"),
		eventtest.Of("account-api-key-revoked", 1, account.APIKeyRevoked{Account: "a1", Hash: "9f86d081", Masked: "rk_abcd****wxyz", At: noon}),
		eventtest.Of("account-snapshot-taken", 1, account.SnapshotTaken{
			Account: "a1", Plan: plan.Free, OpenedAt: noon, Keys: []account.Key{{Hash: "9f86d081", Masked: "rk_abcd****wxyz"}}, At: noon.AddDate(0, 0, 1),
		}),
		eventtest.Of("apikey-issued", 1, apikey.Issued{Hash: "9f86d081", Account: "a1", At: noon}),
	)
}
