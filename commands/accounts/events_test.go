package accounts_test

import (
	"testing"
	"time"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	free := &account.FreePeriod{Start: noon.AddDate(0, 0, -10), End: noon.AddDate(0, 0, 20), Used: 1_234}
	created := account.APIKeyCreated{Account: "a1", Hash: "9f86d081", Masked: "rk_abcd****wxyz",
		SealedName: []byte("\x01name"), At: noon}
	bought := plan.Entitlement{Plan: plan.Pro, Start: noon, End: noon.AddDate(0, 1, 0), Next: plan.Indie,
		Anchor: noon.AddDate(0, -3, 0)}
	most := plan.SpendingCap{Amount: new(int64(2_500)), Currency: "usd", Version: 4}
	eventtest.Golden(t, accounts.Events(),
		eventtest.Of("account-opened", 1, account.Opened{Account: "a1", Plan: plan.Free, Identity: "5e884898",
			FreePeriod: free, At: noon}),
		eventtest.Of("account-api-key-created", 1, created),
		eventtest.Of("account-api-key-revoked", 1, account.APIKeyRevoked{Account: "a1", Hash: "9f86d081",
			Masked: "rk_abcd****wxyz", At: noon}),
		eventtest.Of("account-api-key-renamed", 1, account.APIKeyRenamed{Account: "a1", Hash: "9f86d081",
			Masked: "rk_abcd****wxyz", SealedName: []byte("\x01name"), At: noon}),
		eventtest.Of("account-profile-recorded", 1, account.ProfileRecorded{
			Account: "a1", Name: []byte("\x01name"), Email: []byte("\x01email"), Picture: []byte("\x01picture"),
			EmailHash: "c0ffee", Digest: "d1ce", At: noon,
		}),
		eventtest.Of("account-terms-accepted", 1, account.TermsAccepted{Account: "a1", At: noon}),
		eventtest.Of("account-email-preferences-set", 1, account.EmailPreferencesSet{Account: "a1", WantsEmail: true,
			At: noon}),
		eventtest.Of("account-operator-granted", 1, account.OperatorGranted{Account: "a1", By: "ada", At: noon}),
		eventtest.Of("account-operator-withdrawn", 1, account.OperatorWithdrawn{Account: "a1", By: "ada", At: noon}),
		eventtest.Of("account-entitled", 1, account.Entitled{Account: "a1", Entitlement: bought, Revision: 7, Version: 2,
			At: noon}),
		eventtest.Of("account-spending-cap-set", 1, account.SpendingCapSet{Account: "a1", SpendingCap: most, At: noon}),
		eventtest.Of("account-sessions-revoked", 1, account.SessionsRevoked{Account: "a1", At: noon}),
		eventtest.Of("account-closed", 1, account.Closed{Account: "a1", At: noon}),
		eventtest.Of("account-erased", 1, account.Erased{Account: "a1", AgainAt: noon.Add(time.Hour), At: noon}),
		eventtest.Of("account-erasure-repeated", 1, account.ErasureRepeated{Account: "a1", At: noon}),
		eventtest.Of("account-snapshot-taken", 1, account.SnapshotTaken{
			Facts: account.Facts{
				Account: "a1", OpenedOn: plan.Free, Identity: "5e884898", FreePeriod: free, OpenedAt: noon,
				Entitlement: bought, Version: 2, Followed: 7,
				Before: []account.Former{{Period: plan.Period{Plan: plan.Free, Start: free.Start, End: free.End},
					Next: noon}},
				Keys:          []account.Key{{Hash: "9f86d081", Masked: "rk_abcd****wxyz", SealedName: []byte("\x01name")}},
				ProfileDigest: "d1ce", TermsAccepted: true,
				WantsEmail: new(true), Operator: true, SessionsRevokedAt: noon, Closing: account.ErasedOnce, EraseAgainAt: noon,
				SpendingCap: most,
			}, At: noon.AddDate(0, 0, 1),
		}),
		eventtest.Of("apikey-issued", 1, apikey.Issued{Hash: "9f86d081", Account: "a1", At: noon}),
	)
}
