package main_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// detachable is a Postgres that is reached through a symbolic link, which can be removed.
type detachable struct {
	t            *testing.T
	direct       string // URL
	folder, link string
	services     services // with the URL by the link
}

func (on services) detachable(t *testing.T) *detachable {
	t.Helper()
	address, err := url.Parse(on.postgres)
	require.NoError(t, err)
	d := &detachable{t: t, direct: on.postgres, folder: address.Query().Get("host"),
		link: filepath.Join(newFolder(t), "pg")}
	address.RawQuery = url.Values{"host": {d.link}}.Encode()
	on.postgres = address.String()
	d.services = on
	return d
}

func (d *detachable) attach() { require.NoError(d.t, os.Symlink(d.folder, d.link)) }

func (d *detachable) detach() { require.NoError(d.t, os.Remove(d.link)) }

// hangUp ends the existing connections.
func (d *detachable) hangUp() {
	d.t.Helper()
	connection, err := pgx.Connect(d.t.Context(), d.direct)
	require.NoError(d.t, err)
	_, err = connection.Exec(d.t.Context(),
		`select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name like 'recitald%'`)
	require.NoError(d.t, err)
	require.NoError(d.t, connection.Close(d.t.Context()))
}

// Speech with an API key needs only the log.
func TestSpeechNeedsNoPostgres(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given an account, and a Postgres that becomes unreachable
	pg := outsideServices(t).detachable(t)
	pg.attach()
	first := pg.services.launch(t)
	first.awaitRunning()
	first.eventually(first.isReady)
	c := first.openAccount("indie")
	pg.detach()
	first.eventually(func() bool {
		pg.hangUp() // again and again: one may have been on its way
		return first.lacks("Postgres")()
	})

	// when another instance starts in the meantime
	second := pg.services.launch(t)
	second.awaitRunning()
	require.Contains(t, second.missing(), "Postgres")

	// then both serve speech, and requests that need Postgres get Retry-After
	for _, s := range []*server{first, second} {
		_, err := c.at(s).speak(100)
		require.NoError(t, err)
		refused := once(t, c.at(s).request(http.MethodGet, "/v1/account", nil))
		require.Equal(t, 503, refused.status, refused.text())
		require.NotEmpty(t, refused.header.Get("Retry-After"))
	}

	// when Postgres is back, then both are ready and show the usage
	pg.attach()
	for _, s := range []*server{first, second} {
		s.eventually(s.isReady)
		s.eventually(func() bool { return c.at(s).usage(t) >= 200 })
	}
	require.EqualValues(t, 200, c.usage(t))

	// when an instance has an empty Postgres, then it serves speech before the read models are built
	empty := pg.services
	empty.postgres = pgtest.Empty(t).Config().ConnString()
	third := empty.launch(t)
	third.awaitRunning()
	third.eventually(third.lacks("the log's keyring"))
	_, err := c.at(third).speak(100)
	require.NoError(t, err)
}
