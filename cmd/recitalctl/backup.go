package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/time/rate"

	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/process/pause"
	"github.com/recital-tts/recital/internal/providers/blobs"
)

type backUp struct {
	Dir       string        `arg:"" name:"dir" help:"${back_up_dir}"`
	CheckOnly bool          `help:"Only check the files of the backup; recitald is not needed."`
	Rate      int           `default:"32" help:"${back_up_rate}"`
	Keep      time.Duration `default:"168h" help:"${back_up_keep}"`
	valueForm
}

// Help implements kong.HelpProvider.
func (*backUp) Help() string {
	return `Examples:
  recitalctl backup /mnt/backup/recital
  recitalctl backup /mnt/backup/recital --check-only

recitald continues to serve meanwhile. The folder has the state at the start of the last complete run. The next run
continues an interrupted one, which changes nothing until it is complete. Each file is read again after it is
written. The keys in the backup are wrapped with the master key. Keep the files of the master key and of the signing
key elsewhere: the backup never contains them, and it is useless without them.`
}

// Validate implements kong's check of arguments.
func (c *backUp) Validate() error {
	if c.Rate < 0 || c.Keep < 0 {
		return errors.New("the rate and the time cannot be negative")
	}
	return nil
}

// Run makes or checks a backup.
func (c *backUp) Run(ctx context.Context, s settings, to terminal) error {
	if c.CheckOnly {
		return c.check(ctx, to)
	}
	admin, err := newClient(s)
	if err != nil {
		return err
	}
	folder, err := backup.Open(c.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	run, err := folder.Begin(time.Now().UTC())
	if err != nil {
		return err
	}
	copying := &copying{admin: admin, run: run, to: newStage(to), limit: limiter(c.Rate)}
	defer copying.to.close()
	for _, step := range []func(context.Context) error{
		copying.log, copying.keyring, func(ctx context.Context) error { return copying.blobs(ctx, c.Keep) },
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	m, err := run.Commit(time.Now().UTC())
	if err != nil {
		return err
	}
	copying.to.close()
	return c.print(m, run.Earlier(), to)
}

// check checks an existing backup.
func (c *backUp) check(ctx context.Context, to terminal) error {
	folder, m, err := backup.OpenToRead(c.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := checkBackup(ctx, folder, m, to); err != nil {
		return err
	}
	return c.print(m, m, to)
}

// checkBackup compares the files of a backup with its manifest.
func checkBackup(ctx context.Context, folder *backup.Folder, m backup.Manifest, to terminal) error {
	shown := newStage(to)
	defer shown.close()
	shown.begin("checking the backup", m.Size())
	if err := folder.Check(ctx, m, shown.add); err != nil {
		return fmt.Errorf("the backup is damaged, and later runs do not repair it; begin another in an empty folder, "+
			"and keep this one until that is complete:\n%w", err)
	}
	return nil
}

// backupRow is the row of a printed backup.
type backupRow struct {
	Run    int    `col:"run"`
	AsOf   string `col:"as_of"`
	Events int64  `col:"events,count"`
	New    int64  `col:"new,count"`
	Blobs  int64  `col:"blobs,count"`
	MiB    int64  `col:"mib,count"`
}

func (c *backUp) print(m, earlier backup.Manifest, to terminal) error {
	value := struct {
		Run       int           `json:"run"`
		AsOf      time.Time     `json:"as_of"`
		Log       string        `json:"log"`
		Epoch     int           `json:"epoch"`
		Events    uint64        `json:"events"`
		NewEvents uint64        `json:"new_events"`
		Stored    backup.Stored `json:"stored"`
		Took      time.Duration `json:"took_ns"`
	}{m.Run, m.Begun, m.LogID.String(), m.Epoch, m.Events, m.Events - earlier.Events, m.Stored, m.Ended.Sub(m.Begun)}
	return show(c.Format, to, value, []backupRow{{
		m.Run, m.Begun.Format(time.RFC3339), int64(m.Events), int64(value.NewEvents), int64(m.Stored.Blobs),
		m.Stored.Bytes >> 20,
	}})
}

// copying is a running backup.
type copying struct {
	admin *client
	run   *backup.Run
	to    *stage
	limit *rate.Limiter
}

const (
	attempts = 10
	rest     = 2 * time.Second // pause between two attempts
)

// log copies new events. An interrupted stream is resumed while it makes progress.
func (c *copying) log(ctx context.Context) error {
	for failures := 0; ; failures++ {
		before, err := c.run.Position()
		if err != nil {
			return err
		}
		err = c.stream(ctx, before)
		if err == nil || !isPassing(err) {
			return err
		}
		if now, _ := c.run.Position(); now != before {
			failures = 0
		}
		if failures == attempts {
			return err
		}
		if pause.For(ctx, rest) != nil {
			return errInterrupted
		}
	}
}

// errInterrupted is returned when the backup is interrupted.
var errInterrupted = fail(exitFailed, "interrupted; the next backup into this folder continues")

func (c *copying) stream(ctx context.Context, after eventlog.Position) error {
	body, err := c.open(ctx, "/admin/log?after="+url.QueryEscape(after.String()))
	if err != nil {
		return err
	}
	defer body.Close()
	records, err := logcopy.NewReader(body)
	if err != nil {
		return explain(ctx, err)
	}
	until := records.Header().Until
	c.to.begin("copying the log", int64(until.Commit))
	return explain(ctx, c.run.WriteLog(records, func(event eventlog.Recorded) { c.to.set(int64(event.Position.Commit)) }))
}

// explain returns the error of an interrupted stream for people.
func explain(ctx context.Context, err error) error {
	_, explained := errors.AsType[*failure](err)
	switch {
	case err == nil, explained:
		return err
	case ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, logcopy.ErrCut), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errStream):
		return failForNow(exitUnreachable, "recitald cut the copy: %w", err)
	}
	return err
}

func (c *copying) keyring(ctx context.Context) error {
	c.to.begin("copying the keyring", 0)
	body, err := c.open(ctx, "/admin/backup/keyring")
	if err != nil {
		return fmt.Errorf("copying the keyring: %w", err)
	}
	defer body.Close()
	return explain(ctx, c.run.WriteKeyring(body))
}

func (c *copying) blobs(ctx context.Context, keep time.Duration) error {
	c.to.begin("listing the blobs", 0)
	list, err := c.open(ctx, "/admin/backup/blobs")
	if err != nil {
		return fmt.Errorf("listing the blobs: %w", err)
	}
	total, err := c.run.Listed(list)
	if err := errors.Join(err, list.Close()); err != nil {
		return explain(ctx, err)
	}
	c.to.begin("copying the blobs", total.Bytes)
	fetch := func(address blobs.Address) (io.ReadCloser, error) {
		body, err := c.open(ctx, "/admin/backup/blob/"+string(address))
		if refused, is := errors.AsType[*failure](err); is && refused.status == http.StatusNotFound {
			return nil, blobs.ErrNotFound
		}
		return body, err
	}
	return explain(ctx, c.run.WriteBlobs(fetch, keep, func(blob backup.Blob, _ bool) { c.to.add(blob.Size) }))
}

// open opens a stream that is read at a limited rate.
func (c *copying) open(ctx context.Context, path string) (io.ReadCloser, error) {
	body, err := c.admin.stream(ctx, path)
	if err != nil {
		return nil, err
	}
	return &paced{ctx: ctx, from: body, limit: c.limit}, nil
}

const paceBurst = 1 << 20 // bytes

func limiter(mib int) *rate.Limiter {
	if mib == 0 {
		return rate.NewLimiter(rate.Inf, paceBurst)
	}
	return rate.NewLimiter(rate.Limit(mib<<20), paceBurst)
}

// errStream marks network errors.
var errStream = errors.New("the connection failed")

// paced limits the rate of reading.
type paced struct {
	ctx   context.Context
	from  io.ReadCloser
	limit *rate.Limiter
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	n, err := p.from.Read(b[:min(len(b), paceBurst)])
	if waited := p.limit.WaitN(p.ctx, n); waited != nil {
		return n, waited
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errStream, err)
	}
	return n, err
}

// Close implements io.Closer.
func (p *paced) Close() error { return p.from.Close() }
