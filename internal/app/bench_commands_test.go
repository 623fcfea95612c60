package app_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// bareWriter appends events to its own stream without a decision, each with a call of the official client. No read
// model reads them.
type bareWriter struct {
	journal  *journal.Journal
	client   *esdb.Client
	stream   string
	revision eventlog.Revision
}

// append writes an event with the size of the given one.
func (w *bareWriter) append(ctx context.Context, size any) error {
	event, err := unread(size)
	if err != nil {
		return err
	}
	metadata := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorOperator}, Time: time.Now().UTC()}
	events, err := w.journal.Registry.Encode(uuid.New(), 0, metadata, event)
	if err != nil {
		return err
	}
	options := esdb.AppendToStreamOptions{ExpectedRevision: esdb.NoStream{}}
	if w.revision != eventlog.NoStream {
		options.ExpectedRevision = esdb.Revision(uint64(w.revision))
	}
	result, err := w.client.AppendToStream(ctx, w.stream, options, esdb.EventData{
		EventID: events[0].ID, EventType: events[0].Type, ContentType: esdb.ContentTypeJson, Data: events[0].Data,
		Metadata: events[0].Metadata,
	})
	if err != nil {
		return err
	}
	w.revision = eventlog.Revision(result.NextExpectedVersion)
	return nil
}

// officialClient returns a client of the embedded node in a data folder.
func officialClient(b *testing.B, dataDir string) *esdb.Client {
	b.Helper()
	return nodetest.Client(b, filepath.Join(dataDir, "eventnode", "node.sock"))
}

// unread returns an event with the size of the given one, to within four bytes, that no read model reads.
func unread(size any) (event feedback.Given, err error) {
	wanted, err := json.Marshal(size)
	if err != nil {
		return event, err
	}
	empty, err := json.Marshal(event)
	event.Sealed = make([]byte, max(0, len(wanted)-len(empty))*3/4) // base64 makes four bytes of three
	return event, err
}

// read reads the stream with a call of the official client.
func (w *bareWriter) read(ctx context.Context) error {
	events, err := w.client.ReadStream(ctx, w.stream, esdb.ReadStreamOptions{From: esdb.Start{}}, 16)
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		_, err := events.Recv()
		if failed := new(esdb.Error); errors.As(err, &failed) && failed.Code() == esdb.ErrorCodeResourceNotFound ||
			errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// BenchmarkDurableCommands measures the commands of 64 clients, compared with durable appends of the same events
// through the official client.
func BenchmarkDurableCommands(b *testing.B) {
	b.Run("reserve and settle", benchmarkLedger)
	b.Run("open accounts over HTTP", benchmarkOpenAccounts)
}

const commandClients = 64

// benchmarkLedger measures reserving and settling, which are a command and an append each, with one account for each
// client.
func benchmarkLedger(b *testing.B) {
	const each = 20
	cfg := config(b)
	open(b, cfg)
	log := joinLog(b, cfg.DataDir)
	members := accounts.New(log, time.Now)
	keeper := commands.New(log, members, time.Now, time.Minute)
	b.Cleanup(keeper.Close)

	ids := make([]string, commandClients)
	client := officialClient(b, cfg.DataDir)
	writers := make([]bareWriter, commandClients)
	for i := range ids {
		ids[i] = accounts.NewAccountID()
		_, err := members.Ensure(b.Context(), ids[i], "enterprise", drawKey(b))
		require.NoError(b, err)
		writers[i] = bareWriter{journal: log, client: client, stream: "bench-" + ids[i], revision: eventlog.NoStream}
	}

	var ours, its times
	var oursRate, itsRate rate
	for b.Loop() {
		require.NoError(b, oursRate.window(commandClients, each, func(client int) (float64, error) {
			begun := time.Now()
			reservation, err := keeper.Reserve(b.Context(), ids[client], 100, journal.System())
			if err != nil {
				return 0, err
			}
			_, err = keeper.Settle(b.Context(), reservation, 100)
			ours.add(time.Since(begun) / 2)
			return 2, err
		}))
		require.NoError(b, itsRate.window(commandClients, each, func(client int) (float64, error) {
			begun, id := time.Now(), uuid.NewString()
			reserved := ledger.Reserved{
				Account: ids[client], Reservation: id, Characters: 100, At: begun.UTC(), ExpiresAt: begun.UTC(),
			}
			if err := writers[client].append(b.Context(), reserved); err != nil {
				return 0, err
			}
			err := writers[client].append(b.Context(), ledger.Expired{Account: ids[client], Reservation: id, At: begun.UTC()})
			its.add(time.Since(begun) / 2)
			return 2, err
		}))
	}
	compareTimes(b, &ours, &its)
	benchtest.Compare(b, "commands/s", oursRate.perSecond(), itsRate.perSecond())
	benchtest.Finish(b)
}

// benchmarkOpenAccounts measures opening accounts: two commands with an append each behind the admin route, which then
// waits for the read model. The baseline is both appends, each after a read of its stream, which the commands once
// needed. It is kept so that figures can be compared.
func benchmarkOpenAccounts(b *testing.B) {
	const each = 10
	cfg := config(b)
	a := open(b, cfg)
	log := joinLog(b, cfg.DataDir)
	client := officialClient(b, cfg.DataDir)
	conns := dialAll(b, commandClients, a.AdminAddr())
	request := post("/admin/accounts", "Authorization: Bearer "+secret(b, cfg, "operator-token")+"\r\n", `{"plan":"free"}`)

	var ours, its times
	var oursRate, itsRate rate
	for b.Loop() {
		require.NoError(b, oursRate.window(commandClients, each, func(client int) (float64, error) {
			answered, err := conns[client].ask(request)
			ours.add(answered)
			return 2, err
		}))
		require.NoError(b, itsRate.window(commandClients, each, func(int) (float64, error) {
			begun := time.Now()
			err := openBare(b.Context(), log, client)
			its.add(time.Since(begun))
			return 2, err
		}))
	}
	compareTimes(b, &ours, &its)
	benchtest.Compare(b, "commands/s", oursRate.perSecond(), itsRate.perSecond())
	benchtest.Finish(b)
}

func openBare(ctx context.Context, log *journal.Journal, client *esdb.Client) error {
	id := accounts.NewAccountID()
	w := bareWriter{journal: log, client: client, stream: "bench-" + id, revision: eventlog.NoStream}
	key, err := account.DrawAPIKey(rand.Reader)
	if err != nil {
		return err
	}
	for _, event := range []any{
		account.Opened{Account: id, Plan: "free", At: time.Now().UTC()},
		account.APIKeyCreated{
			Account: id, Hash: account.HashAPIKey(key), Masked: account.MaskAPIKey(key), At: time.Now().UTC(),
		},
	} {
		if err := w.read(ctx); err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		if err := w.append(ctx, event); err != nil {
			return fmt.Errorf("appending: %w", err)
		}
	}
	return nil
}

func drawKey(b *testing.B) string {
	b.Helper()
	key, err := account.DrawAPIKey(rand.Reader)
	require.NoError(b, err)
	return key
}
