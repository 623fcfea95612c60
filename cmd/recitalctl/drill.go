package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/postgres"
)

// drill restores the backup into a temporary folder, and checks that a recitald serves it. The recitald runs in mode
// dev without the settings of the live one. It has its own ports, Postgres and sandbox, and does not call other
// machines.
func (c *restore) drill(ctx context.Context, by eventlog.Actor, to terminal) (err error) {
	if c.To != "" || c.Blobs != "" {
		return fail(exitUsage, "with --check everything is restored into a temporary folder; omit --to and --blobs")
	}
	place, err := makeScratch(c.Scratch, func(text string) { fmt.Fprintln(to.notes, printable(text)) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.remove()) }()
	data := place.data()
	done, err := c.into(ctx, data, by, to)
	if err != nil {
		return err
	}
	proved, err := c.prove(ctx, to)
	if err != nil {
		return err
	}
	served, err := c.start(ctx, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, served.stop()) }()
	if err := served.awaitReady(ctx); err != nil {
		return err
	}
	played, err := served.play(ctx, done.clips)
	if err != nil {
		return err
	}
	fmt.Fprintf(to.out, "ok  the backup is whole, as of %s\n"+
		"ok  %s events are read, and all read models are built\nok  the keyring is that of the log\n",
		done.asOf.Format(time.RFC3339), progress.Count(int64(done.events)))
	fmt.Fprintln(to.out, proved)
	fmt.Fprintln(to.out, played)
	fmt.Fprintf(to.out, "ok  %s blobs are restored, %s deleted ones are left out\n",
		progress.Count(int64(done.blobs)), progress.Count(int64(done.left)))
	return nil
}

// prove checks the log in the backup against its signed heads, if it has any.
func (c *restore) prove(ctx context.Context, to terminal) (string, error) {
	log, err := openSaved(c.Dir)
	if err != nil {
		return "", err
	}
	defer log.Close()
	verify := auditVerify{Backup: c.Dir, PublicKey: c.PublicKey}
	report, err := verify.check(ctx, log, to)
	if errors.Is(err, errNoHeads) {
		return "ok  there are no signed heads to compare the log with", nil
	}
	if err != nil {
		return "", err
	}
	if !report.Intact {
		return "", fail(exitFailed, "%s; see recitalctl audit verify --backup %s", report.verdict(), c.Dir)
	}
	said := fmt.Sprintf("ok  the log matches its %s signed heads; the last %s events are not signed yet",
		progress.Count(int64(report.Heads)), progress.Count(int64(report.Uncovered)))
	if report.Signer == signerUnconfirmed {
		said += "\n??  their key is unconfirmed, " + strings.Join(report.Keys, ", ") + ": give --public-key"
	}
	return said, nil
}

// drilled is the recitald of a drill.
type drilled struct {
	command *exec.Cmd
	data    string
	log     string
	ended   chan error
}

// findRecitald returns the path of the recitald binary.
func (c *restore) findRecitald() (string, error) {
	if c.Recitald != "" {
		return c.Recitald, nil
	}
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding recitald: %w", err)
	}
	beside := filepath.Join(filepath.Dir(own), "recitald")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	found, err := exec.LookPath("recitald")
	if err != nil {
		return "", fail(exitUsage, "recitald is neither next to recitalctl nor in PATH; give its path with --recitald")
	}
	return found, nil
}

func (c *restore) start(ctx context.Context, data string) (*drilled, error) {
	binary, err := c.findRecitald()
	if err != nil {
		return nil, err
	}
	key, err := filepath.Abs(c.MasterKeyFile)
	if err != nil {
		return nil, fmt.Errorf("finding the master key: %w", err)
	}
	d := &drilled{data: data, log: filepath.Join(filepath.Dir(data), "log"), ended: make(chan error, 1)}
	out, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting recitald: %w", err)
	}
	defer out.Close()
	d.command = exec.Command(binary, "--data-dir="+data, "--master-key-file="+key, "--http-addr=127.0.0.1:0",
		"--admin-addr=127.0.0.1:0", "--standins-addr=127.0.0.1:0")
	d.command.Stdout, d.command.Stderr = out, out
	d.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RECITAL_") })
	// Own process group, because Ctrl-C is for recitalctl, which stops recitald. If recitalctl is killed, recitald gets a
	// SIGTERM.
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := d.run(); err != nil {
		return nil, fmt.Errorf("starting recitald: %w", err)
	}
	return d, ctx.Err()
}

// run starts recitald and waits for it in a goroutine with its own thread, because Pdeathsig is sent when the starting
// thread ends.
func (d *drilled) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := d.command.Start()
		started <- err
		if err == nil {
			d.ended <- d.command.Wait()
		}
	}()
	return <-started
}

// stopTimeout is the time that a recitald may take to stop.
const stopTimeout = time.Minute

// stop stops recitald and its Postgres.
func (d *drilled) stop() error {
	_ = d.command.Process.Signal(syscall.SIGTERM) // fails if it has already ended
	select {
	case <-d.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = d.command.Process.Kill()
		<-d.ended
		return errors.New("the recitald of the drill did not stop and was killed")
	}
}

// awaitReady waits until recitald has its keyring and its read models have caught up.
func (d *drilled) awaitReady(ctx context.Context) error {
	for {
		if got, err := d.get(ctx, "/ready_check"); err == nil && got.status == http.StatusOK {
			return nil
		}
		select {
		case err := <-d.ended:
			d.ended <- err
			return fmt.Errorf("the recitald of the drill ended: %w\n%s", cmp.Or(err, errors.New("without a reason")),
				d.lastLines())
		case <-ctx.Done():
			return fail(exitFailed, "interrupted")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// lastLines returns the last lines that recitald logged.
func (d *drilled) lastLines() string {
	content, _ := os.ReadFile(d.log)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// get requests a path or URL from recitald.
func (d *drilled) get(ctx context.Context, path string) (answer, error) {
	address := datafolder.Find(d.data).Public
	if address == "" {
		return answer{}, errors.New("recitald does not serve yet")
	}
	if !strings.HasPrefix(path, "http") {
		path = "http://" + address + path
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return answer{}, err
	}
	return send(newHTTPClient(settings{Timeout: time.Minute}), request)
}

// play reads the text and the audio of the latest clip that still exists. Both are sealed with a key of the keyring. A
// clip that was deleted during the backup may have lost its audio only, so play then tries earlier ones.
func (d *drilled) play(ctx context.Context, clips []string) (string, error) {
	var silent error
	for _, id := range slices.Backward(clips) {
		got, err := d.get(ctx, "/v1/account/clip/"+id)
		if err != nil {
			return "", fmt.Errorf("reading a clip: %w", err)
		}
		if got.status == http.StatusNotFound {
			continue // deleted
		}
		var clip struct {
			Text *string `json:"text"`
			URL  string  `json:"url"`
		}
		if got.status != http.StatusOK || json.Unmarshal(got.body, &clip) != nil {
			return "", fmt.Errorf("clip %s cannot be read: status %d", printable(id), got.status)
		}
		if clip.Text == nil {
			return "", fmt.Errorf("the text of clip %s cannot be opened with the keyring of the backup", printable(id))
		}
		if audio, err := d.get(ctx, clip.URL); err == nil && audio.status == http.StatusOK && len(audio.body) > 0 {
			return "ok  the latest clip is opened: its text is readable, and its audio plays", nil
		}
		silent = fmt.Errorf("the audio of clip %s, and of all later ones, does not play", printable(id))
	}
	return "ok  there is no clip to open", silent
}

// scratchPrefix is the prefix of drills' folders.
const scratchPrefix = "recital-drill-"

// scratch is the folder of a drill. It is locked while the drill runs, so that later drills can recognise the folders
// of killed ones.
type scratch struct {
	dir  string
	lock *os.File
}

var errLocked = errors.New("another drill uses the folder")

// makeScratch creates the folder of a drill, and removes folders of killed drills. note is called with messages about
// folders that cannot be removed.
func makeScratch(parent string, note func(string)) (*scratch, error) {
	parent = cmp.Or(parent, os.TempDir())
	left, err := filepath.Glob(filepath.Join(parent, scratchPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("looking for folders of earlier drills: %w", err)
	}
	for _, dir := range left {
		if err := removeLeft(dir); err != nil {
			note(fmt.Sprintf("the folder of an earlier drill, %s, cannot be removed: %s", dir, err))
		}
	}
	for {
		dir, err := os.MkdirTemp(parent, scratchPrefix)
		if err != nil {
			return nil, fmt.Errorf("making a folder for the drill: %w", err)
		}
		s, err := lockScratch(dir)
		if errors.Is(err, errLocked) {
			continue // another drill is removing it as left by a killed one
		}
		if err == nil {
			err = os.Chmod(dir, 0o711) // for Postgres, which may run as another user
		}
		if err != nil {
			return nil, fmt.Errorf("making a folder for the drill: %w", err)
		}
		return s, nil
	}
}

// removeLeft removes the folder of a drill that no longer runs.
func removeLeft(dir string) error {
	s, err := lockScratch(dir)
	if errors.Is(err, errLocked) || errors.Is(err, os.ErrPermission) { // the drill still runs, or belongs to another user
		return nil
	}
	if err != nil {
		return err
	}
	return s.remove()
}

// lockScratch locks an existing folder. The lock is on the folder itself and ends with the process.
func lockScratch(dir string) (*scratch, error) {
	lock, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errLocked // removed
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && !isStill(dir, lock) || errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &scratch{dir, lock}, nil
}

// isStill reports whether dir is still the path of the open folder.
func isStill(dir string, open *os.File) bool {
	there, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	opened, err := open.Stat()
	return err == nil && os.SameFile(there, opened)
}

func (s *scratch) data() string { return filepath.Join(s.dir, "data") }

// remove removes the folder. If recitalctl was killed, its recitald may still be running, so remove waits until it has
// stopped.
func (s *scratch) remove() error {
	var err error
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err = postgres.RemoveCluster(filepath.Join(s.data(), "postgres"))
		if !errors.Is(err, postgres.ErrInUse) || time.Since(begun) > stopTimeout {
			break
		}
	}
	if err == nil {
		err = os.RemoveAll(s.dir)
	}
	return errors.Join(err, s.lock.Close())
}
