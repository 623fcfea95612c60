package audit_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	accountsevents "github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/alerts"
	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/commands/sessions"
	"github.com/recital-tts/recital/commands/signin"
	"github.com/recital-tts/recital/commands/skips"
	"github.com/recital-tts/recital/commands/voices"
	"github.com/recital-tts/recital/domain/account"
	domainaudit "github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	accountsmodel "github.com/recital-tts/recital/projections/accounts"
	projections "github.com/recital-tts/recital/projections/audit"
	"github.com/recital-tts/recital/readapi/audit"
	"github.com/recital-tts/recital/writeapi"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// The tokens, by the name of their holder.
const (
	auditor  = "ann"
	operator = "otto"
)

func token(name string) string { return strings.Repeat(name, 16) }

// server is a log with a read model of entries, and the routes over it.
type server struct {
	*feedtest.World
	t    testing.TB
	keys *pgkeys.Keyring
	api  *audit.API
	url  string
}

func newServer(t testing.TB) *server {
	t.Helper()
	registry := feedtest.Registry(t, accountsevents.Events(), alerts.Events(), sessions.Events(), signin.Events(),
		keyring.Events(), billing.Events(), ledger.Events(), commands.Events(), voices.Events(), clips.Events(),
		hosting.Events(), skips.Events())
	readModels := append(projections.ReadModels(), accountsmodel.ReadModels()...)
	d := &server{t: t, World: feedtest.New(t, registry, readModels...)}
	var err error
	d.keys, err = pgkeys.New(pgkeys.Config{
		Pool: d.Pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	recorder := commands.New(&journal.Journal{Log: d.Log, Registry: registry}, time.Now)
	var kinds []string
	for _, one := range registry.Types() {
		kinds = append(kinds, one.Name())
	}
	d.api = &audit.API{
		Models: d.Projector, Keys: d.keys, EmailHash: d.hash, Kinds: kinds,
		Record: func(call *web.Call, asked audit.Query, count int, reason string) error {
			_, err := recorder.RecordRead(call, domainaudit.Query(asked), count, reason, writeapi.Origin(call.Caller))
			return err
		},
	}
	d.url = webtest.Serve(t, web.Config{Routes: d.api.AdminRoutes(), Tokens: []operators.Token{
		{Name: auditor, Role: operators.Auditor, Hash: sha256.Sum256([]byte(token(auditor)))},
		{Name: operator, Role: operators.Operator, Hash: sha256.Sum256([]byte(token(operator)))},
	}})
	return d
}

// hash is the e-mail hash of the profiles.
func (d *server) hash(ctx context.Context, address string) (string, error) {
	sum, err := d.keys.Fingerprint(ctx, []byte(strings.ToLower(address)), "e-mail")
	return hex.EncodeToString(sum), err
}

// writeAs appends events of a command after a revision, waits until they are entries, and returns the position of the
// last one.
func (d *server) writeAs(
	t require.TestingT, actor eventlog.Actor, stream string, expected eventlog.Revision, at time.Time, events ...any,
) eventlog.Position {
	return d.writeFrom(t, nil, uuid.New(), actor, stream, expected, at, events...)
}

// writeFrom is writeAs for a command with a sealed address.
func (d *server) writeFrom(
	t require.TestingT, from []byte, command uuid.UUID, actor eventlog.Actor, stream string, expected eventlog.Revision,
	at time.Time, events ...any,
) eventlog.Position {
	meta := eventlog.Metadata{CorrelationID: "request-1", Actor: actor, Time: at, From: from}
	proposed, err := d.Registry.Encode(command, 0, meta, events...)
	require.NoError(t, err)
	appended, err := d.Log.Append(d.t.Context(), stream, expected, proposed)
	require.NoError(t, err)
	require.NoError(t, d.Projector.Wait(d.t.Context(), appended.Position))
	return appended.Position
}

// write is writeAs for the owner of an account.
func (d *server) write(
	t require.TestingT, stream string, expected eventlog.Revision, at time.Time, events ...any,
) eventlog.Position {
	owner := eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a1", Key: "rk_…abc"}
	return d.writeAs(t, owner, stream, expected, at, events...)
}

func (d *server) seal(account, plain, use string) []byte {
	d.t.Helper()
	sealed, err := d.keys.Seal(d.t.Context(), account, []byte(plain), use)
	require.NoError(d.t, err)
	return sealed
}

// opened writes an account with a profile and a session of its owner.
func (d *server) opened(id, email string) {
	d.t.Helper()
	at := time.Now().UTC()
	hash, err := d.hash(d.t.Context(), email)
	require.NoError(d.t, err)
	profile := account.ProfileRecorded{
		Account: id, Email: d.seal(id, email, account.ForEmail), Name: d.seal(id, "Ada", account.ForName),
		EmailHash: hash, Digest: "d", At: at,
	}
	d.write(d.t, account.Stream(id), eventlog.NoStream, at, account.Opened{Account: id, Plan: "free", At: at}, profile)
	s := "session-of-" + id
	d.write(d.t, session.Stream(s), eventlog.NoStream, at, session.Opened{
		Session: s, Account: id, Provider: "idp_1", Address: d.seal(id, "192.0.2.7", session.AddressSealedFor(s)),
		Device: d.seal(id, "Firefox", session.DeviceSealedFor(s)), At: at, ExpiresAt: at.Add(time.Hour),
	})
}

type entry struct {
	At        time.Time
	Kind      string
	Account   string `json:"account_id"`
	Session   string `json:"session_id"`
	Sentence  string
	Stream    string
	Revision  uint64
	Position  string
	Personal  map[string]string
	Actor     struct{ Name string }
	Causation string
}

type listed struct {
	Entries  []entry
	Next     string `json:"next_page_token"`
	Position string
}

// ask returns the status and the body of a route's reply to the holder of a token.
func (d *server) ask(t require.TestingT, who, path string, query url.Values) (int, string) {
	url := d.url + path + "?" + query.Encode()
	response, body := webtest.Send(t, http.MethodGet, url, "", "Authorization", "Bearer "+token(who))
	return response.StatusCode, body
}

func (d *server) list(t require.TestingT, who, area string, query url.Values) listed {
	status, body := d.ask(t, who, "/admin/audit/"+area, query)
	require.Equal(t, http.StatusOK, status, body)
	var page listed
	require.NoError(t, json.Unmarshal([]byte(body), &page))
	require.NotNil(t, page.Entries, "an empty list is no null")
	return page
}

// reads returns the reads of personal data in the log.
func (d *server) reads() (reads []domainaudit.PersonalDataRead) {
	d.t.Helper()
	head, err := d.Log.Head(d.t.Context())
	require.NoError(d.t, err)
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	subscription := d.Log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind == eventlog.KindEvent {
			decoded, err := d.Registry.Decode(delivery.Event)
			require.NoError(d.t, err)
			if read, ok := decoded.Event.(domainaudit.PersonalDataRead); ok {
				reads = append(reads, read)
			}
		}
		if delivery.Kind == eventlog.KindCaughtUp || delivery.Event.Position.Compare(head) >= 0 {
			break
		}
	}
	return reads
}

func of(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return query
}

func kinds(page listed) string {
	var all []string
	for _, e := range page.Entries {
		all = append(all, e.Kind)
	}
	return fmt.Sprint(all)
}
