package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/postgres"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/process/procfs"
	"github.com/recital-tts/recital/internal/testing/bintest"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

// clusterDirVariable makes the test binary act as a recitald that runs a cluster until its input ends.
const clusterDirVariable = "RECITAL_TEST_CLUSTER_DIR"

// eventually bounds waits that only take longer on a slow machine.
const eventually = time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(clusterDirVariable); dir != "" {
		os.Exit(playRecitald(dir))
	}
	goleak.VerifyTestMain(m)
}

func playRecitald(dir string) int {
	cluster, err := postgres.StartCluster(context.Background(), postgres.ClusterConfig{Dir: dir, Logger: silent()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := cluster.Close(); err != nil {
		return 1
	}
	return 0
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func start(t *testing.T, dir string) *postgres.Cluster {
	t.Helper()
	cluster, err := postgres.StartCluster(t.Context(), postgres.ClusterConfig{Dir: dir, Logger: silent()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	return cluster
}

func execute(t *testing.T, cluster *postgres.Cluster, sql string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), cluster.URL())
	require.NoError(t, err)
	defer connection.Close(t.Context())
	_, err = connection.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func answers(ctx context.Context, cluster *postgres.Cluster, sql string) bool {
	connection, err := pgx.Connect(ctx, cluster.URL())
	if err != nil {
		return false
	}
	defer connection.Close(ctx)
	_, err = connection.Exec(ctx, sql)
	return err == nil
}

func TestARestartKeepsTheData(t *testing.T) {
	t.Parallel()
	// given a cluster with a row
	dir := pgtest.ClusterDir(t)
	first := start(t, dir)
	execute(t, first, "create table kept as select 1 as one")

	// when it is closed, twice, and started again
	require.NoError(t, first.Close())
	require.NoError(t, first.Close())
	require.Zero(t, first.PID(), "the server still runs")

	// then the row is there, and the server's settings are as required
	second := start(t, dir)
	execute(t, second, "select one from kept")
	connection, err := pgx.Connect(t.Context(), second.URL())
	require.NoError(t, err)
	defer connection.Close(t.Context())
	for setting, want := range map[string]string{
		"listen_addresses": "", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
		"TimeZone": "UTC", "lc_collate": "C.UTF-8", "server_encoding": "UTF8", "data_checksums": "on",
	} {
		var got string
		require.NoError(t, connection.QueryRow(t.Context(), "select current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	info, err := os.Stat(second.SocketFolder())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestADeadServerIsRestarted(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"idle": "",
		"busy": "select pg_sleep(600)",
	}
	for name, query := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// given a cluster with a committed row and perhaps a running query
			cluster := start(t, pgtest.ClusterDir(t))
			execute(t, cluster, "create table kept as select 1 as one")
			running := make(chan struct{})
			go func() {
				defer close(running)
				answers(context.Background(), cluster, query)
			}()

			// when its postmaster is killed
			killed := cluster.PID()
			require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))

			// then another one serves the same data
			require.Eventually(t, func() bool {
				return cluster.PID() != killed && answers(t.Context(), cluster, "select one from kept")
			}, eventually, 20*time.Millisecond)
			<-running
		})
	}
}

// Neither new connections nor existing ones notice all of these faults.
func TestAServerThatDoesNotAnswerIsReplaced(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cases := map[string]func(t *testing.T, cluster *postgres.Cluster){
		"its socket is gone": func(t *testing.T, cluster *postgres.Cluster) {
			require.NoError(t, os.Remove(filepath.Join(cluster.SocketFolder(), ".s.PGSQL.5432")))
		},
		"the folder of its socket is gone": func(t *testing.T, cluster *postgres.Cluster) {
			require.NoError(t, os.RemoveAll(cluster.SocketFolder()))
		},
		"its postmaster is suspended": func(t *testing.T, cluster *postgres.Cluster) {
			require.NoError(t, syscall.Kill(cluster.PID(), syscall.SIGSTOP))
		},
		"all of its processes are suspended": func(t *testing.T, cluster *postgres.Cluster) {
			stop(t, append(procfs.Children(cluster.PID()), cluster.PID())...)
		},
		"its processes except the postmaster are suspended": func(t *testing.T, cluster *postgres.Cluster) {
			stop(t, procfs.Children(cluster.PID())...)
		},
	}
	for name, hurt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// given a cluster with a committed row, and a connection
			cluster := start(t, pgtest.ClusterDir(t))
			execute(t, cluster, "create table kept (one int)")
			connection, err := pgx.Connect(t.Context(), cluster.URL())
			require.NoError(t, err)
			defer connection.Close(t.Context())
			_, err = connection.Exec(t.Context(), "insert into kept values (1)")
			require.NoError(t, err)

			// when it does not answer
			before := append(procfs.Children(cluster.PID()), cluster.PID())
			hurt(t, cluster)

			// then another one serves the same data, and nothing is left of the first
			require.Eventually(t, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				return !slices.Contains(before, cluster.PID()) && answers(ctx, cluster, "select 1 / count(*) from kept")
			}, eventually, 20*time.Millisecond)
			for _, pid := range before {
				require.Eventually(t, func() bool { return !isAlive(pid) }, eventually, 20*time.Millisecond)
			}
		})
	}
}

func stop(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); !errors.Is(err, syscall.ESRCH) { // a backend may just have ended
			require.NoError(t, err)
		}
	}
}

// isAlive is false for a zombie, too.
func isAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// The server's output is logged, so it must not contain values of statements.
func TestTheLogContainsNoStatements(t *testing.T) {
	t.Parallel()
	// given a cluster whose output is logged at all levels
	var log testlog.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cluster, err := postgres.StartCluster(t.Context(), postgres.ClusterConfig{Dir: pgtest.ClusterDir(t), Logger: logger})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })

	// when a statement fails, and a backend is killed while it runs another
	require.False(t, answers(t.Context(), cluster, "select 'of a client'::int"))
	connection, err := pgx.Connect(t.Context(), cluster.URL())
	require.NoError(t, err)
	backend := int(connection.PgConn().PID())
	running := make(chan error, 1)
	go func() {
		_, err := connection.Exec(context.Background(), "select 'of a client', pg_sleep(600)")
		running <- err
	}()
	require.Eventually(t, func() bool {
		return answers(t.Context(), cluster,
			fmt.Sprintf("select 1 / count(*) from pg_stat_activity where pid = %d and state = 'active'", backend))
	}, eventually, 20*time.Millisecond)
	require.NoError(t, syscall.Kill(backend, syscall.SIGKILL))
	require.Error(t, <-running)

	// then the log has the crash, but no statement
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "was terminated by signal 9") }, eventually,
		20*time.Millisecond)
	require.Eventually(t, func() bool { return answers(t.Context(), cluster, "select 1") }, eventually,
		20*time.Millisecond)
	require.NotContains(t, log.String(), "of a client")
}

func TestTheNextStartCopesWithAKilledRecitald(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cases := map[string]struct {
		killServer bool
		stopServer bool
		config     func(*postgres.ClusterConfig)
		sameServer bool
	}{
		"the server is still running and is taken over":   {sameServer: true},
		"the server was killed too":                       {killServer: true},
		"the server is suspended":                         {stopServer: true},
		"the server is still running with other settings": {config: otherSocket},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// given a recitald with a row in its cluster
			dir := pgtest.ClusterDir(t)
			recitald := startProcess(t, dir)
			server := serverOf(t, dir)
			config := postgres.ClusterConfig{Dir: dir, Logger: silent()}
			if c.config != nil {
				c.config(&config)
			}

			// when it is killed, perhaps with its server
			require.NoError(t, recitald.Process.Kill())
			_ = recitald.Wait()
			if c.killServer {
				require.NoError(t, syscall.Kill(server, syscall.SIGKILL))
			}
			if c.stopServer {
				require.NoError(t, syscall.Kill(server, syscall.SIGSTOP))
			}

			// then the next one has a server, the same one if possible, and supervises it
			cluster, err := postgres.StartCluster(t.Context(), config)
			require.NoError(t, err)
			defer func() { require.NoError(t, cluster.Close()) }()
			execute(t, cluster, "create table made as select 1 as one")
			require.Equal(t, c.sameServer, cluster.PID() == server)

			taken := cluster.PID()
			require.NoError(t, syscall.Kill(taken, syscall.SIGKILL))
			require.Eventually(t, func() bool {
				return cluster.PID() != taken && answers(t.Context(), cluster, "select one from made")
			}, eventually, 20*time.Millisecond)
		})
	}
}

func otherSocket(config *postgres.ClusterConfig) {
	config.SocketDir = filepath.Join(filepath.Dir(config.Dir), "other-socket")
}

func TestAStalePidFileOfAnotherProcessIsIgnored(t *testing.T) {
	t.Parallel()
	// given a stopped cluster whose pid file contains the id of another live process of the server's user
	dir := pgtest.ClusterDir(t)
	require.NoError(t, start(t, dir).Close())
	account, err := postgres.Unprivileged()
	require.NoError(t, err)
	bystander := account.Command("/", "/bin/sh", "-c", "read -r _")
	input, err := bystander.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, bystander.Start())
	defer func() {
		_ = input.Close()
		_ = bystander.Wait()
	}()
	stale := fmt.Sprintf("%d\n%s/data\n1700000000\n5432\n%s/run\n\n", bystander.Process.Pid, dir, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "postmaster.pid"), []byte(stale), 0o600))

	// when it is started, then it serves
	execute(t, start(t, dir), "select 1")
}

func TestAFolderHasOneUser(t *testing.T) {
	t.Parallel()
	// given a running cluster
	dir := pgtest.ClusterDir(t)
	cluster := start(t, dir)

	// when another one is started in the folder
	_, err := postgres.StartCluster(t.Context(), postgres.ClusterConfig{Dir: dir, Logger: silent()})

	// then it is refused with a readable error, and the first one is not harmed
	require.ErrorIs(t, err, postgres.ErrInUse)
	require.ErrorContains(t, err, dir)
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))
	execute(t, cluster, "select 1")
}

func TestOnlyOneOfSeveralFirstStartsSucceeds(t *testing.T) {
	t.Parallel()
	// given an empty folder, when several start there at once
	dir := pgtest.ClusterDir(t)
	type outcome struct {
		cluster *postgres.Cluster
		err     error
	}
	outcomes := make(chan outcome)
	const starters = 4
	for range starters {
		go func() {
			cluster, err := postgres.StartCluster(context.Background(), postgres.ClusterConfig{Dir: dir, Logger: silent()})
			outcomes <- outcome{cluster, err}
		}()
	}

	// then one succeeds and the others get an error
	var winners []*postgres.Cluster
	for range starters {
		if o := <-outcomes; o.err == nil {
			winners = append(winners, o.cluster)
		} else {
			require.ErrorIs(t, o.err, postgres.ErrInUse)
		}
	}
	require.Len(t, winners, 1)
	execute(t, winners[0], "select 1")
	require.NoError(t, winners[0].Close())
}

func TestALongPathGetsAShortSocketFolder(t *testing.T) {
	t.Parallel()
	// given a folder whose path is too long for a socket
	dir := filepath.Join(pgtest.ClusterDir(t), strings.Repeat("long", 25))
	pgtest.Guard(t, dir)

	// when the cluster is started, then it is reached by a short path
	cluster := start(t, dir)
	execute(t, cluster, "select 1")
	require.LessOrEqual(t, len(filepath.Join(cluster.SocketFolder(), ".s.PGSQL.5432")), 107)
	t.Cleanup(func() { _ = os.RemoveAll(cluster.SocketFolder()) })

	// and the next start finds it at the same path
	require.NoError(t, cluster.Close())
	require.Equal(t, cluster.SocketFolder(), start(t, dir).SocketFolder())
}

func TestTheClusterIsElsewhereIfTheServersUserCannotEnterTheFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		bintest.Missing(t, "only for root the server runs as another user")
	}
	// given a folder below one that is closed to other users, such as /root
	closed := t.TempDir()
	require.NoError(t, os.Chmod(closed, 0o700))
	dir := filepath.Join(closed, "postgres")
	elsewhere := postgres.SystemFolder(dir)
	pgtest.Guard(t, elsewhere)
	t.Cleanup(func() {
		require.NoError(t, os.RemoveAll(elsewhere))
		_ = os.Remove(filepath.Dir(elsewhere)) // if it is empty
	})

	// when the cluster is started
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	cluster, err := postgres.StartCluster(t.Context(), postgres.ClusterConfig{Dir: dir, Logger: logger})
	require.NoError(t, err)
	execute(t, cluster, "create table kept as select 1 as one")
	require.NoError(t, cluster.Close())

	// then its data is elsewhere, the log has the path, and the next start finds it
	require.Contains(t, log.String(), elsewhere)
	require.NoDirExists(t, filepath.Join(dir, "data"))
	execute(t, start(t, dir), "select one from kept")
}

func TestAnInterruptedInitdbIsRepeated(t *testing.T) {
	t.Parallel()
	// given a first start that was cancelled during initdb
	dir := pgtest.ClusterDir(t)
	unfinished := filepath.Join(dir, "*unfinished*")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	outcome := make(chan error)
	go func() {
		_, err := postgres.StartCluster(ctx, postgres.ClusterConfig{Dir: dir, Logger: silent()})
		outcome <- err
	}()
	require.Eventually(t, func() bool {
		files, _ := filepath.Glob(filepath.Join(unfinished, "PG_VERSION"))
		return len(files) > 0
	}, eventually, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-outcome, context.Canceled)

	// when it is started again, then the cluster is complete and no temporary folder remains
	execute(t, start(t, dir), "select 1")
	remains, err := filepath.Glob(unfinished)
	require.NoError(t, err)
	require.Empty(t, remains)
}

func TestMissingBinariesAreNamed(t *testing.T) {
	t.Parallel()
	_, err := postgres.FindIn(t.Context(), []string{t.TempDir(), "/nowhere"}, 0)
	require.ErrorIs(t, err, postgres.ErrNotInstalled)
	require.ErrorContains(t, err, "apt-get install postgresql")

	newest, err := postgres.Find(t.Context(), 0)
	require.NoError(t, err)
	_, err = postgres.FindIn(t.Context(), []string{newest.Bin}, 9)
	require.ErrorContains(t, err, "postgresql-9")
}

// startProcess starts a separate recitald that can be killed.
func startProcess(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), clusterDirVariable+"="+dir)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	_, err = cmd.StdinPipe() // closed by the end of this process, at which the other one exits
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd
}

func serverOf(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	return pid
}

func TestACtrlCInTheTerminalDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	cluster := start(t, pgtest.ClusterDir(t))
	group, err := syscall.Getpgid(cluster.PID())
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group)
}

func TestRemovingAClusterStopsTheServerOfAKilledRecitald(t *testing.T) {
	t.Parallel()
	// given a recitald that runs a cluster, which cannot be removed meanwhile
	dir := pgtest.ClusterDir(t)
	recitald := startProcess(t, dir)
	server := serverOf(t, dir)
	require.ErrorIs(t, postgres.RemoveCluster(dir), postgres.ErrInUse)
	require.DirExists(t, filepath.Join(dir, "data"))

	// when it is killed, and the cluster is removed
	require.NoError(t, recitald.Process.Kill())
	_ = recitald.Wait()
	require.NoError(t, postgres.RemoveCluster(dir))

	// then nothing of it remains, and removing it again is no error
	require.NoDirExists(t, dir)
	_, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", server))
	require.Error(t, err, "its server still runs")
	require.NoError(t, postgres.RemoveCluster(dir))
}
