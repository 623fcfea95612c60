package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// openAlert is an alert at the admin address.
type openAlert struct {
	ID, Source, Subject, Reason, Sentence string
	Since                                 time.Time
}

func (i instance) alerts(t *testing.T) []openAlert {
	t.Helper()
	var reply struct{ Alerts []openAlert }
	require.NoError(t, json.Unmarshal(i.operate(t, http.MethodGet, "/admin/alerts", nil), &reply))
	return reply.Alerts
}

// isOpen reports whether an alert is open.
func (i instance) isOpen(t *testing.T, source string, reason alert.Reason) bool {
	t.Helper()
	return slices.ContainsFunc(i.alerts(t),
		func(a openAlert) bool { return a.Source == source && a.Reason == string(reason) })
}

func (i instance) awaitAlert(t *testing.T, open bool, source string, reason alert.Reason) {
	t.Helper()
	require.Eventually(t, func() bool { return i.isOpen(t, source, reason) == open }, patience, pause,
		"%s %s", source, reason)
}

// operatorKey returns the API key of a new account with the operator role.
func (i instance) operatorKey(t *testing.T) string {
	t.Helper()
	var opened struct {
		AccountID string `json:"account_id"`
		APIKey    string `json:"apikey"`
	}
	require.NoError(t, json.Unmarshal(i.operate(t, http.MethodPost, "/admin/accounts", map[string]string{"plan": "free"}),
		&opened))
	i.operate(t, http.MethodPost, "/admin/accounts/"+opened.AccountID+"/operator", nil)
	return opened.APIKey
}

// reports waits until the damage report for a key has a line with a prefix. On a slow machine the key may briefly be
// unknown.
func (i instance) reports(t *testing.T, key, beginning string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(i.report(t, key), func(s string) bool { return strings.HasPrefix(s, beginning) })
	}, patience, pause, beginning)
}

// report returns the lines of the damage report for a key, or the error if there is none now.
func (i instance) report(t *testing.T, key string) []string {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+i.PublicAddr()+"/v1/damage_report", nil)
	require.NoError(t, err)
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if response.StatusCode == http.StatusServiceUnavailable {
		return []string{string(body)}
	}
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	var shown struct {
		RedAlerts []string `json:"red_alerts"`
	}
	require.NoError(t, json.Unmarshal(body, &shown))
	return shown.RedAlerts
}

// events returns all events of streams with a prefix, in the order of the log.
func (c *cluster) events(prefix string) (all []any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	subscription := c.log.Subscribe(ctx, eventlog.Start())
	for delivery := range subscription.Deliveries() {
		if delivery.Kind == eventlog.KindCaughtUp {
			return all
		}
		if delivery.Kind != eventlog.KindEvent || !strings.HasPrefix(delivery.Event.Stream, prefix) {
			continue
		}
		decoded, err := c.registry.Decode(delivery.Event)
		require.NoError(c.t, err)
		all = append(all, decoded.Event)
	}
	require.NoError(c.t, subscription.Err())
	return nil
}

// told returns the events of a source's conditions in the log.
func (c *cluster) told(source string) (raised []alert.ConditionRaised, cleared []alert.ConditionCleared) {
	c.t.Helper()
	own := map[string]bool{}
	for _, event := range c.events(alert.ConditionPrefix) {
		switch e := event.(type) {
		case alert.ConditionRaised:
			if own[e.Alert] = e.Source == source; own[e.Alert] {
				raised = append(raised, e)
			}
		case alert.ConditionCleared:
			if own[e.Alert] {
				cleared = append(cleared, e)
			}
		}
	}
	return raised, cleared
}

// lasting returns a source's conditions in the log that were raised and not cleared. On a slow machine earlier ones may
// have been raised and cleared.
func (c *cluster) lasting(source string) []alert.ConditionRaised {
	c.t.Helper()
	raised, cleared := c.told(source)
	return slices.DeleteFunc(raised, func(r alert.ConditionRaised) bool {
		return slices.ContainsFunc(cleared, func(e alert.ConditionCleared) bool { return e.Alert == r.Alert })
	})
}

// allow makes Postgres accept connections to the cluster's database, or refuse them and end existing ones.
func (c *cluster) allow(connections bool) {
	c.t.Helper()
	config, err := pgx.ParseConfig(c.shared.Postgres)
	require.NoError(c.t, err)
	name := config.Database
	config.Database = "postgres"
	connection, err := pgx.ConnectConfig(c.t.Context(), config)
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, connection.Close(context.Background())) }()
	allow := "false"
	if connections {
		allow = "true"
	}
	_, err = connection.Exec(c.t.Context(),
		"alter database "+pgx.Identifier{name}.Sanitize()+" with allow_connections "+allow)
	require.NoError(c.t, err)
	if !connections {
		_, err = connection.Exec(c.t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
			name)
		require.NoError(c.t, err)
	}
}

func TestOutagesAreInTheDamageReport(t *testing.T) {
	t.Parallel()
	// given an instance without problems
	c := newCluster(t)
	cfg := c.shared
	cfg.AlertEvery, cfg.OutageReads = 20*time.Millisecond, time.Hour
	one := c.open(cfg)
	one.awaitReady(t)
	key := one.operatorKey(t)
	require.Eventually(t, func() bool { return len(one.alerts(t)) == 0 }, patience, pause,
		"there are no problems")
	require.Eventually(t, func() bool { // until the key is cached
		return len(one.report(t, key)) == 0 &&
			!slices.Contains(figures(t, one.App, secret(t, cfg, "operator-token")), "recital_api_key_cache_hits_total 0")
	}, patience, pause)

	// when the event store is down, then the report shows that from memory
	began := time.Now()
	require.NoError(t, c.node.Close())
	one.awaitAlert(t, true, "log", alert.Unreachable)
	one.reports(t, key, "The event store does not answer")

	// and when it is back, then the log has the condition with its times
	back := time.Now()
	c.startNode()
	one.awaitAlert(t, false, "log", alert.Unreachable)
	require.Eventually(t, func() bool {
		raised, cleared := c.told("log")
		return slices.ContainsFunc(raised, func(r alert.ConditionRaised) bool {
			return r.Reason == alert.Unreachable && r.At.After(began.Add(-time.Second)) && r.At.Before(back) &&
				slices.ContainsFunc(cleared, func(c alert.ConditionCleared) bool { return c.Alert == r.Alert && c.At.After(back) })
		})
	}, patience, pause)

	// when Postgres is down, then the report shows that without Postgres
	c.allow(false)
	one.awaitAlert(t, true, "postgres", alert.Unreachable)
	one.reports(t, key, "Postgres does not answer")
	c.allow(true)
	one.awaitAlert(t, false, "postgres", alert.Unreachable)
	require.Eventually(t, func() bool { // on a busy machine there may be several
		raised, cleared := c.told("postgres")
		return len(raised) > 0 && len(cleared) == len(raised)
	}, patience, pause)
	require.Eventually(t, func() bool { return len(one.report(t, key)) == 0 }, patience, pause, "%v",
		one.report(t, key))
}

func TestAStoppedReadModelIsInTheDamageReport(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given two instances, and an undecodable event
	c := newCluster(t)
	c.shared.AlertEvery, c.shared.AlertLag = 2*time.Second, time.Second // three looks have to see more than one overview
	one := c.open(c.shared)
	two := c.open(c.member())
	one.awaitReady(t)
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
	events, err := c.registry.Encode(uuid.New(), 0, meta, account.Opened{Account: "poison", Plan: "free", At: time.Now()})
	require.NoError(t, err)
	events[0].Data = []byte(`{"account": 7}`)
	_, err = c.log.Append(t.Context(), "account-poison", eventlog.NoStream, events)
	require.NoError(t, err)

	// then both report the stop as one alert, and the lag
	for _, i := range []instance{one, two} {
		i.awaitAlert(t, true, alert.EventSource, alert.Stopped)
		i.awaitAlert(t, true, "projection/account", alert.Behind)
	}
	var lasting []alert.ConditionRaised // an alert may be shown before it is in the log
	require.Eventually(t, func() bool {
		lasting = c.lasting("projection/account")
		return len(lasting) > 0 && len(c.raised(events[0].ID)) > 0
	}, patience, pause)
	require.Len(t, lasting, 1, "as one alert")
	require.Equal(t, []string{alert.EventSource}, c.raised(events[0].ID))
	require.Eventually(t, func() bool {
		return slices.Contains(figures(t, one.App, secret(t, one.cfg, "operator-token")),
			`recital_alert_open{reason="stopped",source="event"} 1`)
	}, patience, pause)

	// and neither when an operator has skipped it
	c.skip(one, events[0].ID)
	for _, i := range []instance{one, two} {
		require.Eventually(t, func() bool { return len(i.alerts(t)) == 0 }, patience, pause)
	}
	require.Eventually(t, func() bool { return len(c.lasting("projection/account")) == 0 && len(alertsOf(c)) == 0 },
		patience, pause, "the log has no open alert")
}

// skip skips an event. It retries, because an event that an instance is retrying is not in the list.
func (c *cluster) skip(i instance, event uuid.UUID) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		status, _ := i.act(c.t, http.MethodPost, "/admin/skips", map[string]any{"event_id": event})
		return status == http.StatusOK
	}, patience, pause)
}

// alertsOf returns the ids of the alerts in the log that were raised once and not cleared.
func alertsOf(c *cluster) (open []string) {
	c.t.Helper()
	for _, event := range c.events(alert.Stream) {
		switch e := event.(type) {
		case alert.Raised:
			open = append(open, e.Alert)
		case alert.Cleared:
			open = slices.DeleteFunc(open, func(id string) bool { return id == e.Alert })
		}
	}
	return open
}

// earlier appends an alert from before the instances' start.
func (c *cluster) earlier(source, subject string, reason alert.Reason) (id string) {
	c.t.Helper()
	id = uuid.NewString()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
	raised := alert.Raised{Alert: id, Source: source, Subject: subject, Reason: reason, At: time.Now().UTC()}
	require.Eventually(c.t, func() bool { // instances may append at the same time
		events, err := c.registry.Encode(uuid.New(), 0, meta, raised)
		require.NoError(c.t, err)
		_, err = c.log.Append(c.t.Context(), alert.Stream, c.end(alert.Stream), events)
		return err == nil
	}, patience, pause)
	return id
}

// reservation appends a reservation that is due in an hour.
func (c *cluster) reservation() (id string) {
	c.t.Helper()
	now := time.Now().UTC()
	id = uuid.NewString()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: now}
	events, err := c.registry.Encode(uuid.New(), 0, meta,
		ledger.PeriodOpened{Account: "elsewhere", Plan: plan.Enterprise, Start: now, End: now.Add(time.Hour)},
		ledger.Reserved{Account: "elsewhere", Reservation: id, Characters: 8, At: now, ExpiresAt: now.Add(time.Hour)})
	require.NoError(c.t, err)
	_, err = c.log.Append(c.t.Context(), "usage-elsewhere-1", eventlog.NoStream, events)
	require.NoError(c.t, err)
	return id
}

func TestAlertsOfEarlierReleases(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given open alerts: of an item that is done, of a generation that is gone, and one that only a person can clear
	c := newCluster(t)
	c.shared.AlertEvery = 20 * time.Millisecond
	c.earlier("todo/expiry", uuid.NewString(), alert.GaveUp)
	c.earlier("projection/account", "account_v1_g1 at 5/5", alert.Stopped)
	unpaid := c.earlier("todo/dunning", "an account", alert.Unpaid)
	one := c.open(c.shared)
	one.awaitReady(t)

	// then the first two are cleared
	shows := func(ids ...string) func() bool {
		return func() bool {
			var shown []string
			for _, a := range one.alerts(t) {
				shown = append(shown, a.ID)
			}
			return slices.Equal(ids, shown)
		}
	}
	require.Eventually(t, func() bool { return len(alertsOf(c)) == 1 }, patience, pause)
	require.Eventually(t, shows(unpaid), patience, pause, "the read model follows the log")

	// and an operator clears the rest
	one.operate(t, http.MethodPost, "/admin/alerts/"+unpaid+"/clear", nil)
	require.Eventually(t, shows(), patience, pause)
	require.NotContains(t, alertsOf(c), unpaid)
}

func TestAnItemThatStaysOnTheListKeepsItsAlert(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := newCluster(t)
	c.shared.AlertEvery = 20 * time.Millisecond
	one := c.open(c.shared)
	one.awaitReady(t)
	listed, done := c.reservation(), uuid.NewString()
	c.earlier("todo/expiry", listed, alert.GaveUp)
	kept := alertsOf(c)
	c.earlier("todo/expiry", done, alert.GaveUp)
	require.Eventually(t, func() bool { return len(alertsOf(c)) == 1 }, patience, pause)
	require.Equal(t, kept, alertsOf(c))
}

func TestAPaymentProviderThatIsDownIsInTheDamageReport(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := newCluster(t)
	c.shared.AlertEvery, c.shared.Reconcile = 20*time.Millisecond, time.Second
	one := c.open(c.shared)
	one.awaitReady(t)
	require.NoError(t, one.OrderSandbox(t.Context(), "faults", `{"faults":[{"do":"fail"}]}`))
	one.awaitAlert(t, true, "payments", alert.Unreconciled)
	require.NoError(t, one.OrderSandbox(t.Context(), "faults", `{"faults":[]}`))
	one.awaitAlert(t, false, "payments", alert.Unreconciled)
}
