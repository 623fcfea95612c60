package app_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	es "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// pair is two instances on one event node and one Postgres.
type pair struct {
	node          string // connection string
	cfg           app.Config
	first, second *app.App
}

func openPair(b *testing.B) pair {
	b.Helper()
	folder := filepath.Dir(pgtest.ClusterDir(b))
	node, err := eventnode.Open(eventnode.Config{
		Dir: filepath.Join(folder, "log"), Socket: filepath.Join(folder, "node.sock"), Address: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, node.Close()) })
	p := pair{node: "esdb://" + node.Addr().String() + "?tls=false", cfg: config(b)}
	p.cfg.EventStore, p.cfg.Postgres = p.node, pgtest.URL(b)
	other := config(b)
	other.EventStore, other.Postgres = p.cfg.EventStore, p.cfg.Postgres
	p.first, p.second = open(b, p.cfg), open(b, other)
	return p
}

// newKey opens an account and returns its key.
func (p pair) newKey(b *testing.B, operator *client) string {
	b.Helper()
	_, key := p.newAccount(b, operator)
	return key
}

// newAccount opens an account with a key on the first instance.
func (p pair) newAccount(b *testing.B, operator *client) (id, key string) {
	b.Helper()
	status, body, err := operator.exchange(post("/admin/accounts",
		"Authorization: Bearer "+secret(b, p.cfg, "operator-token")+"\r\n", `{"plan":"free"}`))
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, status, string(body))
	var opened struct {
		Account string `json:"account_id"`
		Key     string `json:"apikey"`
	}
	require.NoError(b, json.Unmarshal(body, &opened))
	return opened.Account, opened.Key
}

// exchange sends a request and reads the reply, with any status.
func (c *client) exchange(request string) (status int, body []byte, err error) {
	if _, err := io.WriteString(c.conn, request); err != nil {
		return 0, nil, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// until repeats a request until the reply has a status.
func (c *client) until(status int, request string) error {
	for {
		got, _, err := c.exchange(request)
		if got == status || err != nil {
			return err
		}
	}
}

// BenchmarkRevocation measures the time from the revocation of a key on one instance to the first refusal on another,
// which is queried continuously and has cached the key. The baseline is the time from an append to its delivery to a
// subscription, through two clients of the event log. after-reply is the part of the time after the revocation's reply.
func BenchmarkRevocation(b *testing.B) {
	p := openPair(b)
	operator := dial(b, p.first.AdminAddr())
	p.benchmarkRevocation(b, func() (credential, revoke string) {
		key := p.newKey(b, operator)
		credential = "x-api-key: " + key + "\r\n"
		return credential, "DELETE /v1/account/api_key/" + account.MaskAPIKey(key) + " HTTP/1.1\r\nHost: " +
			"recital\r\n" + credential + "\r\n"
	})
}

// BenchmarkSessionRevocation is BenchmarkRevocation for a session that is ended by its browser.
func BenchmarkSessionRevocation(b *testing.B) {
	p := openPair(b)
	operator := dial(b, p.first.AdminAddr())
	owner, _ := p.newAccount(b, operator)
	p.benchmarkRevocation(b, func() (credential, revoke string) {
		opened, _, err := p.first.Sessions().Open(b.Context(), owner, session.Client{Provider: "idp_1"}, journal.System())
		require.NoError(b, err)
		credential = "Cookie: svc-session=" + opened.Cookie + "\r\nSec-Fetch-Site: same-origin\r\n"
		return credential, "DELETE /v1/account/sessions/" + opened.ID + " HTTP/1.1\r\nHost: recital\r\n" + credential + "\r\n"
	})
}

// benchmarkRevocation measures the revocation of credentials. next returns a credential as headers and the request that
// revokes it.
func (p pair) benchmarkRevocation(b *testing.B, next func() (credential, revoke string)) {
	here, there := dial(b, p.first.PublicAddr()), dial(b, p.second.PublicAddr())
	bare := openDelivery(b, p.node)
	var ours, its, late times
	for b.Loop() {
		credential, revoke := next()
		get := "GET /v1/account HTTP/1.1\r\nHost: recital\r\n" + credential + "\r\n"
		require.NoError(b, there.until(http.StatusOK, get))
		require.NoError(b, there.until(http.StatusOK, get)) // from the cache
		refused := make(chan time.Duration, 1)
		begun := time.Now()
		go func() {
			assert.NoError(b, there.until(http.StatusUnauthorized, get))
			refused <- time.Since(begun)
		}()
		status, body, err := here.exchange(revoke)
		replied := time.Since(begun)
		took := <-refused
		require.NoError(b, err)
		require.Equal(b, http.StatusOK, status, string(body))
		ours.add(took)
		late.add(max(took-replied, 0))
		its.add(bare.once(b))
	}
	compareTimes(b, &ours, &its)
	b.ReportMetric(milliseconds(late.quantile(0.99)), "after-reply-p99-ms")
	benchtest.Finish(b)
}

// delivery is a writer and the subscription of another client.
type delivery struct {
	writer     bareWriter
	deliveries <-chan eventlog.Delivery
}

func openDelivery(b *testing.B, node string) *delivery {
	b.Helper()
	registry, err := app.Registry()
	require.NoError(b, err)
	log, err := esdb.Open(esdb.Config{ConnectionString: node})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, log.Close()) })
	configuration, err := es.ParseConnectionString(node)
	require.NoError(b, err)
	client, err := es.NewClient(configuration)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, client.Close()) })
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	return &delivery{
		writer: bareWriter{
			journal: &journal.Journal{Log: log, Registry: registry}, client: client,
			stream: "bench-1", revision: eventlog.NoStream,
		},
		deliveries: log.Subscribe(ctx, eventlog.Start()).Deliveries(),
	}
}

func (d *delivery) once(b *testing.B) time.Duration {
	b.Helper()
	delivered := make(chan time.Time)
	go func() {
		for next := range d.deliveries {
			if next.Kind == eventlog.KindEvent && next.Event.Stream == d.writer.stream {
				break
			}
		}
		delivered <- time.Now()
	}()
	begun := time.Now()
	require.NoError(b, d.writer.append(b.Context(),
		account.APIKeyRevoked{Account: "1", Hash: "h", Masked: "m", At: begun}))
	return (<-delivered).Sub(begun)
}
