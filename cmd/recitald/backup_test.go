package main_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/backup/backuptest"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// backedUp is the output of recitalctl backup.
type backedUp struct {
	Run       int    `json:"run"`
	Events    uint64 `json:"events"`
	NewEvents uint64 `json:"new_events"`
	Stored    struct{ Blobs int }
}

func (s *server) backup(dir string, flags ...string) (b backedUp) {
	s.t.Helper()
	output, err := s.tool(append([]string{"backup", dir, "--format", "json"}, flags...)...).CombinedOutput()
	require.NoError(s.t, err, string(output))
	_, printed, _ := strings.Cut(string(output), "{")
	require.NoError(s.t, json.Unmarshal([]byte("{"+printed), &b), string(output))
	return b
}

// files returns the sizes of all files below a folder, by their paths.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		name, _ := filepath.Rel(dir, path)
		sizes[name] = info.Size()
		return err
	}))
	return sizes
}

// saveClip synthesises a text and returns the id of its clip.
func (c customer) saveClip(t *testing.T, text string) string {
	t.Helper()
	answer := requireOK(t, c.post(t, bytesRoute, order{"text": text, "voice": "leah", "debug": true}))
	return answer.header.Get("x-clip-id")
}

func (c customer) closeAccount(t *testing.T) {
	t.Helper()
	require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account", nil)).status)
	c.server.eventually(func() bool { return c.server.keyErased(c) })
}

// hear returns the text and the audio of a clip.
func (c customer) hear(t *testing.T, id string) (text string, audio []byte) {
	t.Helper()
	answer := requireOK(t, do(t, c.request(http.MethodGet, "/v1/account/clip/"+id, nil)))
	var shown clip
	answer.decode(t, &shown)
	require.NotNil(t, shown.Text)
	link, err := url.Parse(shown.URL) // it has the public address, which in mode prod is not the instance's
	require.NoError(t, err)
	played := requireOK(t, do(t, c.request(http.MethodGet, link.RequestURI(), nil)))
	return *shown.Text, played.body
}

func (c customer) lacksClip(t *testing.T, id string) {
	t.Helper()
	require.Equal(t, 404, do(t, c.request(http.MethodGet, "/v1/account/clip/"+id, nil)).status)
}

// owned counts the blobs of a clip in a folder.
func owned(t *testing.T, clip string, dir string) (n int) {
	t.Helper()
	for name := range files(t, dir) {
		if strings.Contains(name, clip) {
			n++
		}
	}
	return n
}

func TestABackupRestoresTheService(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given customers with clips, one of them closed, and others under load
	data, dir := dataFolder(t), filepath.Join(t.TempDir(), "backup")
	s := start(t, data, "--audit-head-interval=1s")
	c, gone, leaving, busy := s.openAccount("indie"), s.openAccount("indie"), s.openAccount("indie"),
		s.openAccount("indie")
	kept, deleted, of, lost := c.saveClip(t, prose(60)), c.saveClip(t, prose(50)), gone.saveClip(t, prose(40)),
		leaving.saveClip(t, prose(45))
	gone.closeAccount(t)
	load := startLoad(t, busy)
	s.eventually(func() bool { return load.clean() >= enough })

	// when two backups are made under load, and then everything is lost
	first := s.backup(dir)
	require.Equal(t, first.Events, first.NewEvents)
	before := files(t, dir)
	require.NotContains(t, s.notes("backup", dir, "--check-only"), "damaged")
	require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account/clip/"+deleted, nil)).status)
	leaving.closeAccount(t)
	late := c.saveClip(t, prose(70))
	load.stop()
	proof := s.exportHeads()
	second := s.backup(dir, "--keep=0s")
	heard, audio := c.hear(t, kept)
	usage := c.usage(t)
	s.kill()

	// then the second one has copied only new events
	require.Equal(t, 2, second.Run)
	require.Equal(t, second.Events, first.Events+second.NewEvents)
	require.Less(t, second.NewEvents, first.NewEvents)
	after := files(t, dir)
	for name, size := range before {
		if strings.HasPrefix(name, "log/") {
			require.Equal(t, size, after[name], name)
		}
		require.False(t, strings.HasPrefix(name, "keyring/") && after[name] > 0, "an earlier keyring was not deleted")
	}
	require.Positive(t, owned(t, kept, dir))
	for _, erased := range []string{deleted, of, lost} {
		require.Zero(t, owned(t, erased, dir), "the blob of a deleted clip was not deleted")
	}
	for _, secret := range []string{"master-key", "signing-key", "operator-token", "dev-api-key"} {
		requireNowhere(t, dir, s.secret(secret))
	}

	// and auditors can verify it, and detect a forged copy
	verify := slices.Clip(append([]string{"audit", "verify"}, proof...))
	require.Contains(t, string(s.recitalctl(append(verify, "--backup", dir)...)), "Proved by the exported heads")
	var changed eventlog.Position
	forged := backuptest.Forge(t, dir, func(event *eventlog.Recorded) bool {
		if event.Type != "clip-saved" || event.Stream != "clip-"+kept {
			return false
		}
		changed, event.Data = event.Position, append(event.Data, ' ')
		return true
	})
	require.NotContains(t, s.notes("backup", forged, "--check-only"), "damaged")
	printed, err := s.tool(append(verify, "--backup", forged, "--format", "json")...).Output()
	requireExit(t, 1, err)
	var report chain.Report
	require.NoError(t, json.Unmarshal(printed, &report))
	require.Len(t, report.Findings, 1)
	found := report.Findings[0]
	require.Equal(t, chain.Altered, found.Kind)
	require.Negative(t, found.After.Position.Compare(changed))
	require.GreaterOrEqual(t, found.Until.Position.Compare(changed), 0)

	// and after a restore clients have the same clips and usage
	another := newFolder(t)
	key := "--master-key-file=" + filepath.Join(data, "master-key")
	require.Contains(t, s.notes("restore", dir, "--data-dir", another, "--master-key-file",
		filepath.Join(data, "signing-key")), "is not the master key")
	said, err := s.tool("restore", dir, "--data-dir", another, key).CombinedOutput()
	require.NoError(t, err, string(said))
	seen := "seen.json" // the state before the restore, in which no event is missing
	require.NoError(t, os.WriteFile(filepath.Join(another, seen), []byte(read(t, filepath.Join(data, seen))), 0o600))
	s = start(t, another, key, "--audit-key-file="+filepath.Join(data, "audit-key"))
	s.eventually(s.isReady)
	require.NotContains(t, read(t, s.log), "put_back")
	require.Contains(t, string(s.recitalctl(verify...)), "Proved by the exported heads")
	c, gone, leaving = c.at(s), gone.at(s), leaving.at(s)
	require.Equal(t, usage, c.usage(t))
	text, played := c.hear(t, kept)
	require.Equal(t, heard, text)
	require.Equal(t, audio, played)
	text, _ = c.hear(t, late)
	require.Equal(t, prose(70), text)
	c.saveClip(t, prose(55))

	// and erased data stays erased
	for _, erased := range []string{deleted, of, lost} {
		c.lacksClip(t, erased)
		require.Zero(t, owned(t, erased, another))
	}
	for _, closed := range []customer{gone, leaving} {
		require.True(t, s.keyErased(closed))
		require.Equal(t, 401, do(t, closed.request(http.MethodGet, "/v1/account", nil)).status)
	}

	// and a drill serves it, too, and leaves no files
	scratch := newFolder(t)
	said, err = s.tool("restore", "--check", dir, key, "--scratch", scratch).CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), "its text is readable, and its audio plays")
	require.Regexp(t, `(?m)^ok  the log matches its \d+ signed heads`, string(said))
	require.Contains(t, string(said), "their key is unconfirmed, "+proof[3])
	said, err = s.tool("restore", "--check", dir, key, "--scratch", scratch, proof[2], proof[3]).CombinedOutput()
	require.NoError(t, err, string(said))
	require.NotContains(t, string(said), "confirmed")
	require.Empty(t, files(t, scratch))
	said, err = s.tool("restore", "--check", forged, key, "--scratch", scratch).CombinedOutput()
	requireExit(t, 1, err)
	require.Contains(t, string(said),
		"the log does not match its signed heads; see recitalctl audit verify --backup "+forged)
	require.Empty(t, files(t, scratch))

	// and the restored log has another epoch, so that it cannot be added to the earlier backup
	require.Contains(t, s.notes("backup", dir), "of the time before this one was restored")
}

// exportHeads exports signed heads that cover the whole log, and returns the flags for checking a log against them.
func (s *server) exportHeads() (flags []string) {
	s.t.Helper()
	var now chain.Report
	require.NoError(s.t, json.Unmarshal(s.recitalctl("audit", "verify", "--format", "json"), &now))
	var newest []audit.Head
	s.eventually(func() bool {
		newest = nil
		require.NoError(s.t, json.Unmarshal(s.recitalctl("audit", "heads", "--format", "json", "--last", "1"), &newest))
		// the last event may be the head itself, for which no other is signed
		return len(newest) == 1 && newest[0].Count+1 >= now.Events
	})
	path := filepath.Join(s.t.TempDir(), "heads.jsonl")
	s.recitalctl("audit", "heads", "--export", path)
	return []string{"--heads", path, "--public-key", newest[0].Key}
}

func requireExit(t *testing.T, code int, err error) {
	t.Helper()
	var exited *exec.ExitError
	require.ErrorAs(t, err, &exited)
	require.Equal(t, code, exited.ExitCode(), string(exited.Stderr))
}

// requireNowhere checks that no file below a folder contains a text.
func requireNowhere(t *testing.T, dir, text string) {
	t.Helper()
	require.NotEmpty(t, text)
	for name := range files(t, dir) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotContains(t, string(content), text, name)
	}
}

func TestALostKeyringIsImportedFromTheBackup(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a backup, an account that was closed after it, and a Postgres that was lost
	data, dir := dataFolder(t), filepath.Join(t.TempDir(), "backup")
	s := start(t, data)
	c, leaving := s.openAccount("indie"), s.openAccount("indie")
	kept, lost := c.saveClip(t, prose(60)), leaving.saveClip(t, prose(40))
	s.backup(dir)
	leaving.closeAccount(t)
	s.kill()
	s.losePostgres()
	s = start(t, data)
	c = c.at(s)
	s.eventually(s.lacks("the log's keyring"))

	// when recitald is killed during imports of the keyring, then the keyring is complete or absent
	for n := range 4 {
		importing := s.tool("keyring", "import", dir)
		require.NoError(t, importing.Start())
		time.Sleep(time.Duration(n) * 20 * time.Millisecond) // at different stages
		s.kill()
		_ = importing.Wait()
		s = start(t, data)
		c = c.at(s)
		ids := s.keyring()
		require.Contains(t, []string{"", ids.Log}, ids.Postgres)
	}
	for range 2 { // a repeated import has no effect
		require.Contains(t, string(s.recitalctl("keyring", "import", dir)), s.keyring().Log)
	}

	// then the read models are rebuilt, clips are readable, and the erased account stays erased
	s.eventually(s.isReady)
	text, _ := c.hear(t, kept)
	require.Equal(t, prose(60), text)
	require.True(t, s.keyErased(leaving))
	s.eventually(func() bool { // its deletion may have begun before the kill
		return do(t, c.request(http.MethodGet, "/v1/account/clip/"+lost, nil)).status == 404
	})
}

func TestAKilledBackupOrRestoreIsCompleteOrAbsent(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data, dir := dataFolder(t), filepath.Join(t.TempDir(), "backup")
	s := start(t, data)
	c := s.openAccount("indie")
	kept := c.saveClip(t, prose(60))
	for range 5 {
		c.saveClip(t, prose(80))
	}
	kill := func(n int, args ...string) {
		t.Helper()
		tool := s.tool(args...)
		require.NoError(t, tool.Start())
		time.Sleep(time.Duration(n) * 15 * time.Millisecond) // at different stages
		_ = tool.Process.Kill()
		_ = tool.Wait()
	}
	// when backups are killed, then the previous one is intact
	s.backup(dir)
	for n := range 10 {
		c.saveClip(t, prose(30))
		kill(n, "backup", dir)
		said, err := s.tool("backup", dir, "--check-only").CombinedOutput()
		require.NoError(t, err, string(said))
	}
	s.backup(dir)
	for name := range files(t, dir) {
		require.NotContains(t, name, "unfinished")
	}
	s.kill()

	// and when restores are killed, then recitald refuses the partial folder, and the next restore completes it
	another := newFolder(t)
	restore := []string{"restore", dir, "--data-dir", another, "--master-key-file=" + filepath.Join(data, "master-key")}
	for n := range 10 {
		kill(n, restore...)
	}
	said, err := s.tool(restore...).CombinedOutput()
	if err != nil { // a restore completed before its kill
		require.Contains(t, string(said), "is not empty")
	}
	for n := range 3 {
		s = start(t, another, "--master-key-file="+filepath.Join(data, "master-key"))
		time.Sleep(time.Duration(n) * 100 * time.Millisecond) // at different stages of taking up the keyring
		s.kill()
	}
	s = start(t, another, "--master-key-file="+filepath.Join(data, "master-key"))
	s.eventually(s.isReady)
	text, _ := c.at(s).hear(t, kept)
	require.Equal(t, prose(60), text)
	require.EqualValues(t, 16, c.at(s).clips(t).TotalClips)
}

func TestADamagedBackupIsRefusedWithTheNameOfTheFile(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data, dir := dataFolder(t), filepath.Join(t.TempDir(), "backup")
	s := start(t, data)
	s.openAccount("indie").saveClip(t, prose(60))
	s.backup(dir)
	another := filepath.Join(t.TempDir(), "data")
	restore := []string{"restore", dir, "--data-dir", another, "--master-key-file=" + filepath.Join(data, "master-key")}
	for name, size := range files(t, dir) {
		if size == 0 || name == "manifest.json" {
			continue
		}
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		altered := append([]byte(nil), whole...)
		altered[len(altered)/2] ^= 1
		for _, damaged := range [][]byte{altered, whole[:len(whole)-1], nil} {
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			if damaged == nil {
				require.NoError(t, os.Remove(path))
			}
			require.Contains(t, s.notes("backup", dir, "--check-only"), filepath.ToSlash(name))
			require.Contains(t, s.notes(restore...), filepath.ToSlash(name))
			require.NoDirExists(t, another)
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
	require.NotContains(t, s.notes("backup", dir, "--check-only"), "damaged")
}

func TestADrillCleansUpAfterAKilledOne(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	data, dir, scratch := dataFolder(t), filepath.Join(t.TempDir(), "backup"), newFolder(t)
	s := start(t, data)
	s.openAccount("indie").saveClip(t, prose(60))
	s.backup(dir)
	drill := []string{"restore", "--check", dir, "--master-key-file=" + filepath.Join(data, "master-key"), "--scratch",
		scratch}
	left := func() []string {
		folders, err := filepath.Glob(filepath.Join(scratch, "*", "data"))
		require.NoError(t, err)
		return folders
	}
	serves := func() bool { return len(left()) == 1 && datafolder.Find(left()[0]).Public != "" }
	kill := func(when func() bool, alsoRecitald bool) {
		t.Helper()
		tool := s.tool(drill...)
		require.NoError(t, tool.Start())
		s.eventually(when)
		if alsoRecitald {
			for _, p := range processesAt(t, filepath.Join(scratch, "recital-drill-")) {
				if filepath.Base(p.args[0]) == "recitald" {
					p.kill(t)
				}
			}
		}
		require.NoError(t, tool.Process.Kill())
		_ = tool.Wait()
		require.Len(t, left(), 1)
	}
	succeeds := func() {
		t.Helper()
		said, err := s.tool(drill...).CombinedOutput()
		require.NoError(t, err, string(said))
		require.Empty(t, left())
		require.Empty(t, processesAt(t, filepath.Join(scratch, "recital-drill-")))
	}

	// when a drill is killed while it restores, then the next one deletes its folder
	kill(func() bool { return len(left()) == 1 }, false)
	succeeds()

	// when it is killed while its recitald serves, then that recitald ends by itself
	kill(serves, false)
	s.eventually(func() bool { return len(processesAt(t, filepath.Join(scratch, "recital-drill-"))) == 0 })
	succeeds()

	// and when its recitald is killed, too, then the next drill stops the remaining Postgres
	kill(serves, true)
	succeeds()

	// and concurrent drills do not disturb each other
	beside := s.tool(drill...)
	require.NoError(t, beside.Start())
	s.eventually(serves)
	said, err := s.tool(drill...).CombinedOutput()
	require.NoError(t, err, string(said))
	require.NoError(t, beside.Wait())
	require.Empty(t, left())
}

// processesAt returns the processes with a path below the given one in their arguments, except recitalctl.
func processesAt(t *testing.T, path string) (found []process) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, of := range folders {
		pid, _ := strconv.Atoi(filepath.Base(of))
		if p, lives := readProcess(pid); lives && strings.Contains(strings.Join(p.args, " "), path) &&
			filepath.Base(p.args[0]) != "recitalctl" {
			found = append(found, p)
		}
	}
	return found
}
