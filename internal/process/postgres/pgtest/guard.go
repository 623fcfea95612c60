package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

// endCluster waits for the end of its input. Then it stops the server of a cluster, if it is still running, and
// removes the folders in its arguments.
const endCluster = `
cluster=$1 remove=$2
read -r _
pid=$(head -n 1 "$cluster/data/postmaster.pid" 2>/dev/null)
serves() { [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd")" = "$(readlink -f "$cluster/data")" ]; }
if serves; then
	kill -QUIT "$pid"
	while serves; do sleep 0.05; done
fi
[ -z "$remove" ] || rm -rf "$remove"
`

// ClusterDir returns the path of a folder for a private cluster (postgres.StartCluster) that the user of a server may
// enter, unlike t.TempDir(). If a server is still running there when the test or the test binary has ended, in
// whatever way, it is stopped and the folder removed.
func ClusterDir(t testing.TB) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "recital-cluster-")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := os.Chmod(parent, 0o711); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	dir := filepath.Join(parent, "postgres")
	guard(t, dir, parent)
	return dir
}

// DataDir returns the path of a recitald's data folder. Its cluster exists and is migrated, which saves the test the
// longest part of a first start; the folder is removed like that of ClusterDir.
func DataDir(t testing.TB) string {
	t.Helper()
	w, err := opened()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	cluster := ClusterDir(t)
	folder, err := datafolder.Open(filepath.Dir(cluster)) // a folder that has a cluster and no mark is refused
	if err == nil {
		err = folder.Close()
	}
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := os.Mkdir(cluster, 0o711); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if output, err := exec.Command("cp", "-a", w.data, filepath.Join(cluster, "data")).CombinedOutput(); err != nil {
		t.Fatalf("pgtest: copying the template: %v: %s", err, output)
	}
	return folder.Dir()
}

// Guard is ClusterDir for a folder that is kept: it stops the server of the private cluster in dir when the test or
// the test binary has ended. A killed recitald leaves its server to the next one; in a test there is none.
func Guard(t testing.TB, dir string) {
	t.Helper()
	guard(t, dir, "")
}

func guard(t testing.TB, dir, remove string) {
	t.Helper()
	shell := exec.Command("/bin/sh", "-c", endCluster, "sh", dir, remove)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := shell.StdinPipe()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := shell.Start(); err != nil {
		t.Fatalf("pgtest: starting a guard: %v", err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = shell.Wait() // its exit code only reports whether there was something to do
	})
}
