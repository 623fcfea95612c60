package catalog_test

import (
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/eventlog"
)

// example is the value that a golden file decodes to today. For the newest version the file was written from it.
type example struct {
	name    string
	version int
	event   any
}

var (
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	limit = int64(15_000)
	terms = ledger.PeriodOpened{Account: "a1", Plan: plan.Free, Limit: &limit, Metered: true, Start: noon, End: noon.AddDate(0, 1, 0)}
	open  = ledger.Reservation{ID: "r2", Characters: 40, ExpiresAt: noon.Add(time.Minute)}
)

var examples = []example{
	{"log-opened", 1, eventlog.LogOpened{LogID: uuid.MustParse("0190b0c0-1111-7000-8000-00000000000a"), Epoch: 3}},
	{"account-opened", 1, account.Opened{Account: "a1", Plan: plan.Free, At: noon}},
	{"account-api-key-created", 1, account.APIKeyCreated{Account: "a1", Hash: "9f86d081", Masked: "rk_abcd****wxyz", Name: "build server", At: noon}},
	{"account-api-key-revoked", 1, account.APIKeyRevoked{Account: "a1", Hash: "9f86d081", Masked: "rk_abcd****wxyz", At: noon}},
	{"usage-period-opened", 1, terms},
	{"usage-reserved", 1, ledger.Reserved{Account: "a1", Reservation: "r1", Characters: 120, At: noon, ExpiresAt: noon.Add(time.Minute)}},
	{"usage-settled", 1, ledger.Settled{Account: "a1", Reservation: "r1", Characters: 100, Start: noon, At: noon}},
	{"usage-expired", 1, ledger.Expired{Account: "a1", Reservation: "r1", At: noon}},
	{"usage-summed", 1, ledger.Summed{PeriodOpened: terms, Characters: 100, Reservations: []ledger.Reservation{open}, At: noon}},
	{"usage-credit-granted", 1, ledger.CreditGranted{
		Account: "a1", Grant: "spring-2026", Characters: 5_000, Start: noon, End: noon.AddDate(0, 1, 0), From: new(noon.AddDate(0, -1, 0)), At: noon,
	}},
	{"usage-credit-carried", 1, ledger.CreditCarried{Account: "a1", Characters: 1_200, Start: noon, To: noon.AddDate(0, 1, 0), At: noon.AddDate(0, 1, 0)}},
	{"usage-credit-summed", 1, ledger.CreditSummed{Account: "a1", At: noon, Grants: []ledger.Credited{
		{Grant: "spring-2026", Characters: 5_000},
		{Grant: "c0ffee00-0000-5000-8000-00000000000a", Characters: 1_200, From: new(noon.AddDate(0, -1, 0))},
	}}},
	{"alert-raised", 1, alert.Raised{Alert: "al1", Source: "todo/expiry", Subject: "r1", Reason: alert.GaveUp, At: noon}},
	{"clip-saved", 1, clip.Saved{
		Clip: clipID, Account: "a1", Voice: "leah", Language: "en-us", Speed: 1.25, Format: "mp3", SampleRate: 24000, MediaType: "audio/mpeg",
		Characters: 12, Milliseconds: 1_480, Blob: clipBlob, Bytes: 9_216, Seed: 42, Debug: true, Sealed: []byte("\x01sealed"), At: noon,
		Settings: clip.Settings{
			Model: "aurora", Conversational: new(true), Temperature: new(0.5), TopK: new(40), TopP: new(0.8),
			Length: new(1.5), Expressive: new(0.25), Quality: new(2),
		},
	}},
	{"feedback-given", 1, feedback.Given{Feedback: "f1", Account: "a1", Rating: feedback.ThumbsDown, Sealed: []byte("\x01sealed"), At: noon}},
	{"clip-deleted", 1, clip.Deleted{Clip: clipID, Account: "a1", Blob: clipBlob, At: noon}},
}

const (
	clipID   = "0123456789abcdef0123456789abcdef"
	clipBlob = "clip-" + clipID + ".00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
)
