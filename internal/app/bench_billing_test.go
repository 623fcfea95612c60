package app_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84/webhook"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/payment"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// benchSecret signs the notices of the benchmarks.
const benchSecret = "whsec_bench"

// withProvider adds a payment provider in this process to a configuration.
func withProvider(b *testing.B, cfg app.Config) app.Config {
	b.Helper()
	box, err := sandbox.Open(sandbox.Config{
		File: filepath.Join(b.TempDir(), "sandbox"), Key: "sk_test_bench", WebhookSecret: benchSecret,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, box.Close()) })
	cfg.StripeRate = 0
	cfg.StripeKey, cfg.StripeSecret, cfg.StripeURL = "sk_test_bench", []string{benchSecret}, box.URL()
	return cfg
}

// drawn returns a random id in the provider's form.
func drawn() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// noticeOf returns the request with a notice of an event.
func noticeOf(id, kind, customer string) string {
	body := fmt.Appendf(nil,
		`{"id":%q,"object":"event","type":%q,"api_version":%q,"created":%d,"data":{"object":{"id":"sub_1","object":"subscription","customer":%q}}}`,
		id, kind, sandbox.APIVersion, time.Now().Unix(), customer)
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: benchSecret})
	return post("/payments/webhook", "Stripe-Signature: "+signed.Header+"\r\n", string(body))
}

// BenchmarkWebhooks measures acknowledged notices a second with 64 clients, compared with durable appends of the same
// events through the official client.
func BenchmarkWebhooks(b *testing.B) {
	const each = 20
	cfg := withProvider(b, config(b))
	a := open(b, cfg)
	log := joinLog(b, cfg.DataDir)
	client := officialClient(b, cfg.DataDir)
	conns := dialAll(b, commandClients, a.PublicAddr())
	var ours, its times
	var oursRate, itsRate rate
	for b.Loop() {
		require.NoError(b, oursRate.window(commandClients, each, func(client int) (float64, error) {
			answered, err := conns[client].ask(noticeOf("evt_"+drawn(), "moon.risen", ""))
			ours.add(answered)
			return 1, err
		}))
		require.NoError(b, itsRate.window(commandClients, each, func(int) (float64, error) {
			begun := time.Now()
			w := bareWriter{journal: log, client: client, stream: "bench-" + uuid.NewString(), revision: eventlog.NoStream}
			err := w.append(b.Context(), payment.Received{
				ID: "evt_" + drawn(), Kind: "moon.risen", Object: "sub_1", CreatedAt: begun.UTC(), At: begun.UTC(),
			})
			its.add(time.Since(begun))
			return 1, err
		}))
	}
	compareTimes(b, &ours, &its)
	benchtest.Compare(b, "notices/s", oursRate.perSecond(), itsRate.perSecond())
	benchtest.Finish(b)
}

// BenchmarkWebhookBurst measures a burst of notices about 100 customers, each notice twice and in any order, until all
// are handled, compared with appends of the same number of events.
func BenchmarkWebhookBurst(b *testing.B) {
	burst := benchtest.Size(10_000, 1_000)
	cfg := withProvider(b, config(b))
	cfg.Postgres = pgtest.URL(b)
	a := open(b, cfg)
	pool, err := postgres.NewPool(b.Context(), cfg.Postgres, "")
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	log := joinLog(b, cfg.DataDir)
	client := officialClient(b, cfg.DataDir)
	customers := make([]string, 100)
	for i := range customers {
		customers[i] = writeCustomer(b, cfg, log, fmt.Sprint("burst-", i))
	}
	conns := dialAll(b, commandClients, a.PublicAddr())
	var ours, its rate
	var oursBusy, itsBusy float64
	for b.Loop() {
		requests := make([]string, 0, burst)
		for i := range burst / 2 {
			one := noticeOf("evt_"+drawn(), "customer.subscription.updated", customers[i%100])
			requests = append(requests, one, one)
		}
		rand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		oursBusy += busyWithPostgres(b, pool, func() {
			begun := time.Now()
			var next atomic.Int64
			var acknowledged rate
			require.NoError(b, acknowledged.window(commandClients, burst/commandClients, func(client int) (float64, error) {
				_, err := conns[client].ask(requests[next.Add(1)-1])
				return 1, err
			}))
			b.ReportMetric(acknowledged.perSecond(), "acknowledged/s")
			awaitHandled(b, pool)
			ours.done, ours.took = ours.done+float64(next.Load()), ours.took+time.Since(begun)
		})
		itsBusy += busyWithPostgres(b, pool, func() {
			require.NoError(b, its.window(commandClients, burst/commandClients, func(int) (float64, error) {
				w := bareWriter{journal: log, client: client, stream: "bench-" + uuid.NewString(), revision: eventlog.NoStream}
				return 1, w.append(b.Context(), payment.Received{
					ID: "evt", Kind: "customer.subscription.updated", At: time.Now().UTC(),
				})
			}))
		})
	}
	benchtest.Compare(b, "cpu-µs", oursBusy/ours.done, itsBusy/its.done)
	benchtest.Compare(b, "settled/s", ours.perSecond(), its.perSecond())
	benchtest.Finish(b)
}

// awaitHandled waits until all notices are handled. It checks that twice, because the read model may lag.
func awaitHandled(b *testing.B, pool *pgxpool.Pool) {
	b.Helper()
	calm := 0
	for end := time.Now().Add(10 * time.Minute); calm < 3; time.Sleep(20 * time.Millisecond) {
		require.True(b, time.Now().Before(end), "some notices are not handled")
		var left int
		require.NoError(b, pool.QueryRow(b.Context(), `select count(*) from read_v1.todo_payment`).Scan(&left))
		calm++
		if left > 0 {
			calm = 0
		}
	}
}

// writeCustomer makes an account a customer and returns the customer's id.
func writeCustomer(b *testing.B, cfg app.Config, log *journal.Journal, account string) string {
	b.Helper()
	at := time.Now().UTC()
	provider, err := stripe.New(stripe.Config{Key: cfg.StripeKey, URL: cfg.StripeURL})
	require.NoError(b, err)
	defer provider.Close()
	customer, err := provider.CreateCustomer(b.Context(), payments.Attempt{ID: uuid.NewString(), First: at}, account)
	require.NoError(b, err)
	metadata := eventlog.Metadata{Actor: journal.System().Actor, Time: at}
	events, err := log.Registry.Encode(uuid.New(), 0, metadata,
		subscription.CustomerCreated{Account: account, Customer: customer, At: at})
	require.NoError(b, err)
	_, err = log.Log.Append(b.Context(), subscription.Stream(account), eventlog.NoStream, events)
	require.NoError(b, err)
	return customer
}

// bareInvoice is a row of the bare route for comparison.
type bareInvoice struct {
	ID       string
	Status   string
	Paid     int64
	Currency string
	Created  int64
}

// BenchmarkBillingOverview measures GET /payments/billing of an account with a subscription, a card and a year of
// invoices, with eight clients, compared with a bare Fiber and pgx route that returns the invoices.
func BenchmarkBillingOverview(b *testing.B) {
	const clients, each = 8, 50
	cfg := withProvider(b, config(b))
	cfg.Postgres = pgtest.URL(b)
	a := open(b, cfg)
	pool, err := postgres.NewPool(b.Context(), cfg.Postgres, "")
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	writeInvoices(b, joinLog(b, cfg.DataDir), pool, "operator")

	ask := func(conns []*client, request string, taken *times) func(int) (float64, error) {
		return func(client int) (float64, error) {
			answered, err := conns[client].ask(request)
			taken.add(answered)
			return 1, err
		}
	}
	var ours, its times
	askOurs := ask(dialAll(b, clients, a.PublicAddr()),
		"GET /payments/billing HTTP/1.1\r\nHost: recital\r\nx-api-key: "+secret(b, cfg, "dev-api-key")+"\r\n\r\n", &ours)
	askBare := ask(dialAll(b, clients, serveRows[bareInvoice](b, pool,
		`select invoice_id, status, amount_paid, currency, extract(epoch from created_at)::bigint
		from read_v1.invoices where account_id = $1 order by created_at desc limit 100`)),
		"GET / HTTP/1.1\r\nHost: recital\r\nx-account: operator\r\n\r\n", &its)
	var oursRate, itsRate rate
	for b.Loop() {
		require.NoError(b, oursRate.window(clients, each, askOurs))
		require.NoError(b, itsRate.window(clients, each, askBare))
	}
	compareTimes(b, &ours, &its)
	benchtest.Compare(b, "requests/s", oursRate.perSecond(), itsRate.perSecond())
	benchtest.Finish(b)
}

// writeInvoices gives an account a subscription with twelve invoices, without sealed fields, and waits until they are
// rows.
func writeInvoices(b *testing.B, log *journal.Journal, pool *pgxpool.Pool, account string) {
	b.Helper()
	at := time.Now().UTC()
	events := []any{subscription.Created{Account: account, At: at, Terms: subscription.Terms{
		Subscription: "sub_bench", Price: "price_pro", Plan: plan.Pro, Status: "active", PeriodStart: at,
		PeriodEnd: at.AddDate(0, 1, 0), Anchor: at,
	}}}
	for i := range 12 {
		events = append(events, subscription.InvoiceRecorded{
			Account: account, Invoice: fmt.Sprint("in_", i), Number: fmt.Sprint("R-", i), Status: "paid", AmountDue: 4900,
			AmountPaid: 4900, Currency: "usd",
			CreatedAt: at.AddDate(0, -i, 0), At: at,
		})
	}
	proposed, err := log.Registry.Encode(uuid.New(), 0, eventlog.Metadata{Actor: journal.System().Actor, Time: at},
		events...)
	require.NoError(b, err)
	_, err = log.Log.Append(b.Context(), subscription.Stream(account), eventlog.NoStream, proposed)
	require.NoError(b, err)
	require.Eventually(b, func() bool {
		var rows int
		err := pool.QueryRow(b.Context(), `select count(*) from read_v1.invoices where account_id = $1`, account).Scan(&rows)
		return err == nil && rows == 12
	}, patience, pause)
}
