package billing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	billingevents "github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/domain/catalogue"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	projections "github.com/recital-tts/recital/projections/billing"
	"github.com/recital-tts/recital/readapi/billing"
)

func TestMain(m *testing.M) { webtest.Main(m) }

var now = time.Date(2026, 3, 10, 12, 30, 15, 0, time.UTC)

// desk is a log of billing with read models, and the routes over them.
type desk struct {
	*feedtest.World
	t    *testing.T
	keys *pgkeys.Keyring
	url  string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, World: feedtest.New(t, feedtest.Registry(t, billingevents.Events()), projections.ReadModels()...)}
	var err error
	d.keys, err = pgkeys.New(pgkeys.Config{Pool: d.Pool,
		MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	api := billing.API{Models: d.Projector, Keys: d.keys}
	d.url = webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}})
	return d
}

func (d *desk) get(path, account string) string {
	d.t.Helper()
	response, body := webtest.Send(d.t, http.MethodGet, d.url+path, "", "x-api-key", account)
	require.Equal(d.t, http.StatusOK, response.StatusCode, body)
	return body
}

func (d *desk) seal(text, use string) []byte {
	d.t.Helper()
	sealed, err := d.keys.Seal(d.t.Context(), "a1", []byte(text), use)
	require.NoError(d.t, err)
	return sealed
}

func listed(id, name string, of plan.Type, amount int64, currency string, millis int64) catalogue.PriceListed {
	return catalogue.PriceListed{
		Price: catalogue.Price{ID: id, Name: name, Plan: of, Amount: amount, Currency: currency, OverageMillis: millis,
			OverageUnit: 1000}, At: now,
	}
}

func TestProducts(t *testing.T) {
	d := newDesk(t)
	free := `{"name":"Free","price_id":null,"monthly_cost":0,"amount":0,"currency":null,
		"additional_unit_cost":null,"char_limit":15000,"chars_per_unit":null}`
	require.JSONEq(t, `[`+free+`]`, d.get("/payments/products", ""))
	d.Write(t, catalogue.Stream,
		listed("price_pro", "Pro", plan.Pro, 4900, "usd", 4500),
		listed("price_indie", "Indie", plan.Indie, 999, "usd", 5000),
		listed("price_yen", "Premium", plan.Premium, 30000, "jpy", 5000),
		listed("price_dinar", "Pro", plan.Pro, 15000, "kwd", 12500),
		listed("price_fils", "Indie", plan.Indie, 3250, "kwd", 12500),
		listed("price_old", "Old", plan.Indie, 500, "usd", 5000),
		catalogue.PriceWithdrawn{ID: "price_old", At: now})
	require.JSONEq(t, `[`+free+`,
		{"name":"Premium","price_id":"price_yen","monthly_cost":30000,"amount":30000,"currency":"jpy",
			"additional_unit_cost":5,"char_limit":5700000,"chars_per_unit":1000},
		{"name":"Indie","price_id":"price_fils","monthly_cost":null,"amount":3250,"currency":"kwd",
			"additional_unit_cost":0.0125,"char_limit":200000,"chars_per_unit":1000},
		{"name":"Pro","price_id":"price_dinar","monthly_cost":15,"amount":15000,"currency":"kwd",
			"additional_unit_cost":0.0125,"char_limit":1250000,"chars_per_unit":1000},
		{"name":"Indie","price_id":"price_indie","monthly_cost":null,"amount":999,"currency":"usd",
			"additional_unit_cost":0.05,"char_limit":200000,"chars_per_unit":1000},
		{"name":"Pro","price_id":"price_pro","monthly_cost":49,"amount":4900,"currency":"usd",
			"additional_unit_cost":0.045,"char_limit":1250000,"chars_per_unit":1000}]`,
		d.get("/payments/products", ""))
}

// started returns the events of a running subscription of the account a1.
func started(id string, of plan.Type) subscription.Created {
	return subscription.Created{Account: "a1", At: now, Terms: subscription.Terms{
		Subscription: id, Price: "price_" + string(of), Plan: of, Status: "active", PeriodStart: now,
		PeriodEnd: now.AddDate(0, 1, 0), Anchor: now,
	}}
}

func TestTheOverview(t *testing.T) {
	d := newDesk(t)
	const nothing = `{"subscription":{"subscription_id":null,"price_id":null,"amount":null,"currency":null,"status":null,"current_period_end":null,"cancel_at_period_end":false,"scheduled_change":null,"pending_change":null},
		"other_subscriptions":[],"payment_method":null,"invoices":[]}`
	require.JSONEq(t, nothing, d.get("/payments/billing", "a1"))

	d.Write(t, catalogue.Stream, listed("price_indie", "Indie plan", plan.Indie, 1000, "usd", 5000))
	invoice := subscription.InvoiceRecorded{
		Account: "a1", Invoice: "in_1", Number: "R-1", Status: "paid", AmountDue: 4900, AmountPaid: 4900, Currency: "usd",
		CreatedAt: now, At: now,
		Page: d.seal("https://pay.example/in_1", subscription.SealedForInvoice),
		PDF:  d.seal("https://pay.example/in_1.pdf", subscription.SealedForInvoice),
	}
	open := subscription.InvoiceRecorded{Account: "a1", Invoice: "in_2", Status: "open", AmountDue: 100, Currency: "usd",
		CreatedAt: now.Add(time.Hour), At: now}
	d.Write(t, subscription.Stream("a1"), started("sub_1", plan.Pro), invoice, open,
		subscription.InvoiceRefunded{Account: "a1", Invoice: "in_1", Refunded: 100, Currency: "usd", At: now},
		subscription.InvoiceDisputed{Account: "a1", Invoice: "in_1", Disputed: true, Dispute: "lost", Amount: 4800,
			Currency: "usd", At: now}, invoice,
		subscription.CardChanged{Account: "a1", PaymentMethod: "pm_1", Brand: d.seal("visa", subscription.SealedForCard),
			Last4: d.seal("4242", subscription.SealedForCard), At: now},
		subscription.ChangeScheduled{Account: "a1", Subscription: "sub_1", Price: "price_indie", Plan: plan.Indie,
			EffectiveAt: now.AddDate(0, 1, 0), At: now},
		subscription.ChangePending{Account: "a1", Subscription: "sub_1", Price: "price_premium", Plan: plan.Premium,
			Invoice: "in_3", ExpiresAt: now.Add(23 * time.Hour), At: now},
		subscription.CancellationScheduled{Account: "a1", Subscription: "sub_1", CancelAt: now.AddDate(0, 1, 0), At: now})
	require.JSONEq(t, fmt.Sprintf(`{
		"subscription":{"subscription_id":"sub_1","price_id":"price_pro","amount":null,"currency":null,"status":"active",
		"current_period_end":%[1]d,"cancel_at_period_end":true,
			"scheduled_change":{"price_id":"price_indie","plan_name":"Indie plan","amount":1000,"currency":"usd",
			"effective_at":%[1]d},
			"pending_change":{"price_id":"price_premium","plan_name":"premium","amount":null,"currency":null,
			"expires_at":%[4]d}},
		"other_subscriptions":[],
		"payment_method":{"brand":"visa","last4":"4242"},
		"invoices":[
			{"id":"in_2","number":null,"status":"open","amount_due":100,"amount_paid":0,"amount_refunded":0,"dispute":null,
			"currency":"usd","created":%[3]d,"hosted_invoice_url":null,"invoice_pdf":null},
			{"id":"in_1","number":"R-1","status":"paid","amount_due":4900,"amount_paid":4900,"amount_refunded":100,
				"dispute":{"status":"lost","amount":4800},"currency":"usd","created":%[2]d,
				"hosted_invoice_url":"https://pay.example/in_1","invoice_pdf":"https://pay.example/in_1.pdf"}]}`,
		now.AddDate(0, 1, 0).Unix(), now.Unix(), now.Add(time.Hour).Unix(), now.Add(23*time.Hour).Unix()),
		d.get("/payments/billing", "a1"))
	require.JSONEq(t, nothing, d.get("/payments/billing", "a2"), "another account's")

	// data whose key is gone is omitted
	require.NoError(t, d.keys.Erase(t.Context(), "a1"))
	var shown struct {
		PaymentMethod any `json:"payment_method"`
		Invoices      []struct {
			URL *string `json:"hosted_invoice_url"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(d.get("/payments/billing", "a1")), &shown))
	require.Nil(t, shown.PaymentMethod)
	require.Len(t, shown.Invoices, 2)
	require.Nil(t, shown.Invoices[1].URL)
}

// A subscription created at the provider is shown in addition to the main one, while it runs.
func TestASecondSubscriptionIsShown(t *testing.T) {
	d := newDesk(t)
	gone := subscription.Ended{Account: "a1", Terms: started("sub_0", plan.Pro).Terms, EndedAt: now, At: now}
	gone.Status = "canceled"
	d.Write(t, catalogue.Stream, listed("price_indie", "Indie plan", plan.Indie, 1000, "usd", 5000))
	d.Write(t, subscription.Stream("a1"), started("sub_0", plan.Pro), gone, started("sub_1", plan.Indie),
		started("sub_2", plan.Pro), subscription.CancellationScheduled{Account: "a1", Subscription: "sub_1",
			CancelAt: now.AddDate(0, 1, 0), At: now})
	var shown struct {
		Subscription struct {
			ID string `json:"subscription_id"`
		}
		Others json.RawMessage `json:"other_subscriptions"`
	}
	require.NoError(t, json.Unmarshal([]byte(d.get("/payments/billing", "a1")), &shown))
	require.Equal(t, "sub_2", shown.Subscription.ID)
	require.JSONEq(t, fmt.Sprintf(`[{"subscription_id":"sub_1","price_id":"price_indie","amount":1000,"currency":"usd",
		"status":"active","current_period_end":%d,"cancel_at_period_end":true}]`, now.AddDate(0, 1, 0).Unix()),
		string(shown.Others))
}

// The main subscription is the newest one that runs, or else the newest.
func TestTheSubscriptionThatIsShown(t *testing.T) {
	ended := func(id string, of plan.Type) subscription.Ended {
		e := subscription.Ended{Account: "a1", Terms: started(id, of).Terms, EndedAt: now, At: now}
		e.Status = "canceled"
		return e
	}
	incomplete := started("sub_3", plan.Premium)
	incomplete.Status = "incomplete"
	for name, c := range map[string]struct {
		events        []any
		price, status string
	}{
		"the only one": {[]any{started("sub_1", plan.Indie)}, "price_indie", "active"},
		"that has ended": {[]any{started("sub_1", plan.Indie), ended("sub_1", plan.Indie)}, "price_indie",
			"canceled"},
		"after one that has ended": {[]any{started("sub_1", plan.Indie), ended("sub_1", plan.Indie),
			started("sub_2", plan.Pro)}, "price_pro", "active"},
		"before one that waits": {[]any{started("sub_1", plan.Indie), incomplete}, "price_indie", "active"},
		"that waits": {[]any{started("sub_1", plan.Indie), ended("sub_1", plan.Indie), incomplete},
			"price_premium", "incomplete"},
		"before one that has ended": {[]any{started("sub_1", plan.Indie), started("sub_2", plan.Pro),
			ended("sub_2", plan.Pro)}, "price_indie", "active"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Write(t, subscription.Stream("a1"), c.events...)
			var shown struct {
				Subscription struct {
					PriceID string `json:"price_id"`
					Status  string
				}
			}
			require.NoError(t, json.Unmarshal([]byte(d.get("/payments/billing", "a1")), &shown))
			require.Equal(t, []string{c.price, c.status}, []string{shown.Subscription.PriceID, shown.Subscription.Status})
		})
	}
}

func TestAtMostAHundredInvoicesAreShown(t *testing.T) {
	d := newDesk(t)
	var events []any
	for i := range 103 {
		events = append(events, subscription.InvoiceRecorded{
			Account: "a1", Invoice: fmt.Sprintf("in_%03d", i), Status: "paid", Currency: "usd",
			CreatedAt: now.Add(time.Duration(i) * time.Hour), At: now,
		})
	}
	d.Write(t, subscription.Stream("a1"), events...)
	var shown struct{ Invoices []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(d.get("/payments/billing", "a1")), &shown))
	require.Len(t, shown.Invoices, 100)
	require.Equal(t, "in_102", shown.Invoices[0].ID)
	require.Equal(t, "in_003", shown.Invoices[99].ID)
}

func TestHints(t *testing.T) {
	d := newDesk(t)
	hints := billing.Hints{Models: d.Projector}
	ended := subscription.Ended{Account: "a3", Terms: started("sub_3", plan.Indie).Terms, EndedAt: now, At: now}
	ended.Status = "canceled"
	for account, events := range map[string][]any{
		"a1": {subscription.CustomerCreated{Account: "a1", Customer: "cus_1", At: now}, started("sub_1", plan.Pro),
			started("sub_1b", plan.Pro)},
		"a3": {started("sub_3", plan.Indie), ended},
		"a4": {subscription.CustomerCreated{Account: "a4", Customer: "cus_4", At: now}},
	} {
		d.Write(t, subscription.Stream(account), events...)
	}
	for customer, want := range map[string]string{"cus_1": "a1", "cus_4": "a4", "cus_nobody": ""} {
		account, err := hints.AccountOf(t.Context(), customer)
		require.NoError(t, err)
		require.Equal(t, want, account)
	}
	end := now.AddDate(0, 1, 0)
	for at, want := range map[time.Time][]string{end: nil, end.Add(time.Second): {"a1"}} {
		accounts, err := hints.Overdue(t.Context(), at, "")
		require.NoError(t, err)
		require.Equal(t, want, accounts, "each once, and none whose subscription has ended")
	}
	rest, err := hints.Overdue(t.Context(), end.Add(time.Second), "a1")
	require.NoError(t, err)
	require.Empty(t, rest)
}
