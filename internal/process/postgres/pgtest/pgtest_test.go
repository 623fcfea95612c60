package pgtest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// playVariable makes this test binary act as one whose server is watched from outside.
const playVariable = "RECITAL_TEST_PLAY"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	// given two databases
	first, second := pgtest.New(t), pgtest.New(t)

	// when a table is created in one of them
	_, err := first.Exec(t.Context(), "create table only_here (id int)")
	require.NoError(t, err)

	// then the other one does not have it
	var there *string
	require.NoError(t, second.QueryRow(t.Context(), "select to_regclass('only_here')::text").Scan(&there))
	require.Nil(t, there)
}

// A server that a test kills removes nothing, so anything outside its folder would remain.
func TestAServerHasNoSharedMemoryOutsideOfItsFolder(t *testing.T) {
	var pid int
	require.NoError(t, pgtest.New(t).QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid))
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	require.NotContains(t, string(maps), "/dev/shm/PostgreSQL.")
}

func TestADatabaseIsMigratedUnlessItIsEmpty(t *testing.T) {
	migrated := "select exists (select from pg_tables where tablename = 'goose_db_version')"
	var is bool
	require.NoError(t, pgtest.New(t).QueryRow(t.Context(), migrated).Scan(&is))
	require.True(t, is)
	require.NoError(t, pgtest.Empty(t).QueryRow(t.Context(), migrated).Scan(&is))
	require.False(t, is)
}

func TestADatabaseIsDroppedWithItsTestEvenWhenItIsInUse(t *testing.T) {
	// given a test that leaves a connection open
	var address string
	t.Run("careless", func(t *testing.T) {
		address = pgtest.URL(t)
		connection, err := pgx.Connect(t.Context(), address)
		require.NoError(t, err)
		require.NoError(t, connection.Ping(t.Context()))
	})

	// when it has ended, then its database is gone
	_, err := pgx.Connect(t.Context(), address)
	require.ErrorContains(t, err, "does not exist")
}

func TestPlay(t *testing.T) {
	if os.Getenv(playVariable) == "" {
		t.Skip("part of the test below")
	}
	fmt.Println(pgtest.URL(t))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// play is another test binary that uses a server.
type play struct {
	*exec.Cmd
	input   io.Closer // its end ends the binary
	address string
}

func newPlay(t *testing.T, tmp string) play {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	binary := exec.Command(self, "-test.run=^TestPlay$")
	binary.Env = append(os.Environ(), playVariable+"=1", "TMPDIR="+tmp)
	output, err := binary.StdoutPipe()
	require.NoError(t, err)
	input, err := binary.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, binary.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	return play{binary, input, strings.TrimSpace(line)}
}

// folder returns the folder of the server.
func (p play) folder(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(p.address)
	require.NoError(t, err)
	return address.Query().Get("host")
}

func (p play) end() {
	_ = p.input.Close()
	_ = p.Wait()
}

func TestTestBinariesShareAServerThatStopsWithTheLastOfThem(t *testing.T) {
	// given two test binaries of one run
	tmp := filepath.Dir(pgtest.ClusterDir(t))
	first, second := newPlay(t, tmp), newPlay(t, tmp)
	folder := first.folder(t)
	require.DirExists(t, folder)

	// then they share a server, but no database, and it outlives the first of them
	require.Equal(t, folder, second.folder(t))
	require.NotEqual(t, first.address, second.address)
	first.end()
	connection, err := pgx.Connect(t.Context(), second.address)
	require.NoError(t, err)
	require.NoError(t, connection.Ping(t.Context()))
	require.NoError(t, connection.Close(t.Context()))

	// when the last one is killed, then the server stops, and its folder is removed
	require.NoError(t, second.Process.Kill())
	second.end()
	gone := func() bool {
		_, err := os.Stat(folder)
		return os.IsNotExist(err)
	}
	require.Eventually(t, gone, time.Minute, 10*time.Millisecond)

	// and the next one starts another
	third := newPlay(t, tmp)
	require.NotEqual(t, folder, third.folder(t))
	third.end()
}

func TestTheServerHasTheRealOnesSettings(t *testing.T) {
	pool := pgtest.New(t)
	for setting, want := range map[string]string{
		"synchronous_commit": "on", "TimeZone": "UTC", "application_name": "recitald",
	} {
		var got string
		require.NoError(t, pool.QueryRow(t.Context(), "select current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	require.Equal(t, postgres.Superuser, pool.Config().ConnConfig.User)
}
