package app_test

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// cluster is several instances on one log and one Postgres.
type cluster struct {
	t        *testing.T
	log      *esdb.Client
	at       eventnode.Config
	node     *eventnode.Node // the log
	registry *eventlog.Registry
	shared   app.Config
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	dir := nodetest.Dir(t)
	c := &cluster{t: t, shared: config(t), at: eventnode.Config{
		Dir: filepath.Join(dir, "log"), Socket: nodetest.Socket(dir), Address: "127.0.0.1:0",
		Logger: slog.New(slog.DiscardHandler),
	}}
	c.startNode()
	t.Cleanup(func() { require.NoError(t, c.node.Close()) })
	var err error
	c.log, err = esdb.Open(esdb.Config{Socket: nodetest.Socket(dir)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.log.Close()) })
	c.registry, err = app.Registry()
	require.NoError(t, err)
	c.shared.EventStore = "esdb://" + c.node.Addr().String() + "?tls=false"
	c.shared.Postgres = pgtest.URL(t)
	return c
}

// startNode starts the event node at its previous address.
func (c *cluster) startNode() {
	c.t.Helper()
	var err error
	c.node, err = eventnode.Open(c.at)
	require.NoError(c.t, err)
	c.at.Address = c.node.Addr().String()
}

// instance is a running recitald of a cluster.
type instance struct {
	*app.App
	cfg app.Config
}

// open starts an instance, which is closed at the end of the test.
func (c *cluster) open(cfg app.Config) instance {
	c.t.Helper()
	return instance{open(c.t, cfg), cfg}
}

// member returns the configuration of another instance with the first one's keys.
func (c *cluster) member() app.Config {
	c.t.Helper()
	cfg := c.shared
	cfg.DataDir = pgtest.DataDir(c.t)
	cfg.MasterKeyFile, cfg.SigningKeyFile = filepath.Join(c.shared.DataDir, "master-key"),
		filepath.Join(c.shared.DataDir, "signing-key")
	return cfg
}

// raised returns the sources of an event's alerts in the log.
func (c *cluster) raised(event uuid.UUID) (sources []string) {
	c.t.Helper()
	for recorded, err := range c.log.ReadStream(c.t.Context(), alert.Stream, 0) {
		require.NoError(c.t, err)
		decoded, err := c.registry.Decode(recorded)
		require.NoError(c.t, err)
		require.Equal(c.t, event, decoded.Meta.CausationID)
		raised := decoded.Event.(alert.Raised)
		require.Contains(c.t, []alert.Reason{alert.Stopped, alert.Outdated}, raised.Reason)
		sources = append(sources, raised.Source)
	}
	slices.Sort(sources)
	return sources
}

// counted returns the number of times that instances have counted the alert of an event that stops projections.
func (c *cluster) counted(instances ...instance) (sum int) {
	c.t.Helper()
	for _, i := range instances {
		const prefix = `recital_alerts_total{reason="stopped",source="event"} `
		for _, line := range figures(c.t, i.App, secret(c.t, i.cfg, "operator-token")) {
			if value, found := strings.CutPrefix(line, prefix); found {
				var n int
				require.NoError(c.t, json.Unmarshal([]byte(value), &n))
				sum += n
			}
		}
	}
	return sum
}

func TestAPoisonEventRaisesOneAlert(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given two instances on one log
	c := newCluster(t)
	first := c.open(c.shared)
	second := c.open(c.member())

	// when the log gets an undecodable event
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: time.Now()}
	events, err := c.registry.Encode(uuid.New(), 0, meta, account.Opened{Account: "poison", Plan: "free", At: time.Now()})
	require.NoError(t, err)
	events[0].Data = []byte(`{"account": 7}`)
	_, err = c.log.Append(t.Context(), "account-poison", eventlog.NoStream, events)
	require.NoError(t, err)

	// then it raises one alert for all projections that stop before it
	began := time.Now()
	one := []string{alert.EventSource}
	require.Eventually(t, func() bool { return slices.Equal(one, c.raised(events[0].ID)) }, patience, pause)
	stopped := 0
	for _, p := range app.ReadModels() {
		if p.Streams.Include("account-poison") {
			stopped++
		}
	}
	require.Greater(t, stopped, 2)
	require.Eventually(t, func() bool { return len(first.parked(t)) == stopped }, patience, pause)
	again := int(time.Since(began) / time.Minute) // after a minute an instance counts it again
	require.LessOrEqual(t, c.counted(first, second), 2*(1+again), "once by each instance")

	// when both instances end and one is restarted, then that one counts it, too
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	first = c.open(c.shared)
	require.Eventually(t, func() bool { return c.counted(first) > 0 }, patience, pause)

	// and the log still has one alert
	require.NoError(t, first.Close()) // this appends queued alerts
	require.Equal(t, one, c.raised(events[0].ID))
}
