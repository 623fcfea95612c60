package stripe_test

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
)

const notice = `{"id":"evt_1","object":"event","api_version":"2026-02-25.clover","created":1790000000,"type":"customer.subscription.updated",` +
	`"data":{"object":{"id":"sub_1","object":"subscription","customer":"cus_1"}}}`

// signed returns a signature of a body.
func signed(body, secret string, at time.Time) string {
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(webhook.ComputeSignature(at, []byte(body), secret)))
}

func TestANoticeIsVerified(t *testing.T) {
	now := time.Unix(1_790_000_100, 0)
	notices, err := stripe.NewNotices("whsec_new", "whsec_old")
	require.NoError(t, err)
	v1 := func(secret string, at time.Time) string { return signed(notice, secret, at)[len("t=1790000100,"):] }
	for _, c := range []struct {
		name, body, signature string
		good                  bool
	}{
		{"signed now", notice, signed(notice, "whsec_new", now), true},
		{"signed with the secret that is being replaced", notice, signed(notice, "whsec_old", now), true},
		{"signed with both", notice, signed(notice, "whsec_gone", now) + "," + v1("whsec_new", now), true},
		{"five minutes old", notice, signed(notice, "whsec_new", now.Add(-300*time.Second)), true},
		{"older", notice, signed(notice, "whsec_new", now.Add(-301*time.Second)), false},
		{"from the future", notice, signed(notice, "whsec_new", now.Add(301*time.Second)), false},
		{"from the far future", notice, signed(notice, "whsec_new", now.Add(24*time.Hour)), false},
		{"an old one with a new time before", notice,
			fmt.Sprintf("t=%d,", now.Unix()) + signed(notice, "whsec_new", now.Add(-time.Hour)), false},
		{"an old one with a new time behind", notice,
			signed(notice, "whsec_new", now.Add(-time.Hour)) + fmt.Sprintf(",t=%d", now.Unix()), false},
		{"signed with another secret", notice, signed(notice, "whsec_other", now), false},
		{"signed with no secret", notice, signed(notice, "", now), false},
		{"another body", notice + " ", signed(notice, "whsec_new", now), false},
		{"a cut body", notice[:len(notice)-2], signed(notice, "whsec_new", now), false},
		{"a cut signature", notice, signed(notice, "whsec_new", now)[:60], false},
		{"only a time", notice, fmt.Sprintf("t=%d", now.Unix()), false},
		{"no signature", notice, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			event, err := notices.Verify([]byte(c.body), c.signature, now)
			if !c.good {
				require.ErrorIs(t, err, payments.ErrForged)
				require.Empty(t, event)
				return
			}
			require.NoError(t, err)
			require.Equal(t, payments.Event{
				ID: "evt_1", Type: "customer.subscription.updated", Object: "sub_1", Customer: "cus_1",
				CreatedAt: time.Unix(1_790_000_000, 0).UTC(),
			}, event)
		})
	}
}

func TestASignedNoticeThatIsNoEventIsNotForged(t *testing.T) {
	notices, err := stripe.NewNotices("whsec")
	require.NoError(t, err)
	for _, body := range []string{"", "}", `{"object":"list"}`, `{"id":1,"object":"event","type":"invoice.paid"}`} {
		event, err := notices.Verify([]byte(body), signed(body, "whsec", time.Now()), time.Now())
		require.ErrorIs(t, err, payments.ErrMalformed, body)
		require.Empty(t, event)
	}
}

func TestTheCustomerOfANoticeIsFoundInIt(t *testing.T) {
	notices, err := stripe.NewNotices("whsec")
	require.NoError(t, err)
	for object, customer := range map[string]string{
		`{"object":{"id":"cus_1","object":"customer"}}`:                                                                 "cus_1",
		`{"object":{"id":"in_1","object":"invoice","customer":{"id":"cus_1","object":"customer"}}}`:                     "cus_1",
		`{"object":{"id":"pm_1","object":"payment_method","customer":null},"previous_attributes":{"customer":"cus_1"}}`: "cus_1",
		`{"object":{"id":"pm_1","object":"payment_method","customer":null},"previous_attributes":{"customer":1}}`:       "",
		`{"object":{"id":"pm_1","object":"payment_method"},"previous_attributes":{"customer":{"id":"cus_1"}}}`:          "cus_1",
		`{"object":{"id":"pm_1","object":"payment_method"},"previous_attributes":1}`:                                    "",
		`{"object":{"id":"prod_1","object":"product"}}`:                                                                 "",
		`{"object":{"id":"dp_1","object":"dispute","charge":"ch_1"}}`:                                                   "",
	} {
		body := `{"id":"evt_1","object":"event","api_version":"2026-02-25.clover","type":"anything","data":` + object + `}`
		event, err := notices.Verify([]byte(body), signed(body, "whsec", time.Now()), time.Now())
		require.NoError(t, err, object)
		assert.Equal(t, customer, event.Customer, object)
	}
}

// The endpoint of a new account uses the newest version of the API, and an old endpoint an old one.
func TestANoticeOfAnyVersionIsTaken(t *testing.T) {
	notices, err := stripe.NewNotices("whsec")
	require.NoError(t, err)
	for version, other := range map[string]bool{
		"2025-09-30.clover": false, "2026-02-25.clover": false, "2026-09-30.endive": true, "2025-03-31.basil": true,
		"2024-06-20": true, "": true,
	} {
		body := `{"id":"evt_1","object":"event","api_version":"` + version + `","type":"invoice.paid",` +
			`"data":{"object":{"id":"in_1","object":"invoice","customer":"cus_1"}}}`
		got, err := notices.Verify([]byte(body), signed(body, "whsec", time.Now()), time.Now())
		require.NoError(t, err, version)
		assert.Equal(t, other, got.OtherVersion, version)
		assert.Equal(t, []string{"evt_1", "in_1", "cus_1"}, []string{got.ID, got.Object, got.Customer})
	}
}

func TestANoticeWithAnAbsurdTimeGetsTheSignaturesTime(t *testing.T) {
	notices, err := stripe.NewNotices("whsec")
	require.NoError(t, err)
	now := time.Unix(1_790_000_100, 0)
	for created, want := range map[string]time.Time{
		"1789000000": time.Unix(1_789_000_000, 0), "0": now, "-1": now, "-9223372036854775808": now, "1790009999": now,
		"253402300800": now, "9223372036854775807": now,
	} {
		body := `{"id":"evt_1","object":"event","created":` + created +
			`,"type":"invoice.paid","data":{"object":{"id":"in_1"}}}`
		got, err := notices.Verify([]byte(body), signed(body, "whsec", now), now)
		require.NoError(t, err, created)
		assert.Equal(t, want.UTC(), got.CreatedAt, created)
	}
}

func TestAnEmptySecretVerifiesNothing(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"whsec", ""}, {" "}} {
		_, err := stripe.NewNotices(secrets...)
		require.Error(t, err, "%q", secrets)
	}
}
