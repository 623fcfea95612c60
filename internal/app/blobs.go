package app

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
)

// openStore opens the blobs of this log, in S3 or in a folder: those of another one, with which recitald may be started
// by mistake, lie beside and are never swept.
func (a *App) openStore(ctx context.Context) (blobs.Store, error) {
	store, err := a.openConfiguredStore(ctx)
	if err != nil {
		return nil, err
	}
	a.blobStore = watchBlobs(store, a.log)
	return a.blobStore, nil
}

func (a *App) openConfiguredStore(ctx context.Context) (blobs.Store, error) {
	own := a.identity.LogID.String()
	if !a.cfg.blobsInS3() {
		dir := a.cfg.Blobs
		if dir == "" {
			dir = a.folder.Path("blobs")
		}
		return folder.Open(folder.Config{Dir: filepath.Join(dir, own), Instance: a.instance(), Logger: a.log})
	}
	conf, err := a.cfg.s3()
	if err != nil {
		return nil, err
	}
	conf.Folder, conf.Logger = own, a.log
	store, err := s3.Open(ctx, conf)
	if err != nil {
		return nil, err
	}
	a.onClose("the blobs in S3", store.Close)
	a.blobJobs = []job{{name: "the sweep of unfinished uploads", every: time.Hour, run: func(ctx context.Context) error {
		aborted, err := store.Sweep(ctx)
		if aborted > 0 {
			a.log.InfoContext(ctx, "removed uploads that crashes have left unfinished", "uploads", aborted)
		}
		return err
	}}}
	return store, nil
}

func (c Config) blobsInS3() bool { return strings.HasPrefix(c.Blobs, s3.Scheme) }

// s3 returns the store that is configured, with its credentials.
func (c Config) s3() (conf s3.Config, err error) {
	if conf.Location, err = s3.ParseURL(c.Blobs); err != nil {
		return conf, err
	}
	conf.AccessKey, conf.SecretKey = c.S3AccessKey, c.S3SecretKey
	return conf, nil
}

func (c Config) checkBlobs(m *Mistakes) {
	if !c.blobsInS3() {
		m.when(c.Blobs != "" && !filepath.IsAbs(c.Blobs), "blobs", "it must be the absolute path of a folder, or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
		return
	}
	access, secret := c.S3AccessKey != "" || c.S3AccessKeyFile != "", c.S3SecretKey != "" || c.S3SecretKeyFile != ""
	m.when(access != secret, "s3-secret-key", "S3 needs both keys, RECITAL_S3_ACCESS_KEY and RECITAL_S3_SECRET_KEY, or neither, and finds them where AWS's tools do")
	location, err := s3.ParseURL(c.Blobs)
	if err == nil && c.Mode == modeProd && location.Plain && !location.PlainMeant && !location.OnLoopback() {
		err = errors.New("in mode prod blobs in S3 travel over TLS, except on loopback: give an endpoint that begins with https://, " +
			"or add tls=false where nobody else is on the network between")
	}
	m.add("blobs", err)
}

// watchedBlobs is a store with figures, and with what an operator needs to know: whether it answers.
type watchedBlobs struct {
	blobs.Store
	took    *prometheus.HistogramVec
	answers prometheus.GaugeFunc
	silent  atomic.Bool
	since   atomic.Pointer[time.Time] // it has not answered, or has again
	log     *slog.Logger
}

func watchBlobs(store blobs.Store, log *slog.Logger) *watchedBlobs {
	w := &watchedBlobs{Store: store, log: log, took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "recital_blob_operation_seconds", Help: "Duration of operations on the blob store.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 4, 9),
	}, []string{"operation", "outcome"})}
	w.answers = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "recital_blob_store_answers", Help: "Whether the blob store has carried out what it was asked last: 1 or 0. Without it clips are neither saved nor played.",
	}, func() float64 {
		if w.silent.Load() {
			return 0
		}
		return 1
	})
	return w
}

func (w *watchedBlobs) collectors() []prometheus.Collector {
	return []prometheus.Collector{w.took, w.answers}
}

// note notes the outcome of an operation. One that was given up says nothing about the store; one whose time was up
// says that it is too slow.
func (w *watchedBlobs) note(operation string, begun time.Time, err error) {
	outcome, silent := "done", false
	switch {
	case errors.Is(err, context.Canceled):
		w.took.WithLabelValues(operation, "cancelled").Observe(time.Since(begun).Seconds())
		return
	case domain.CodeOf(err) == domain.Unavailable, errors.Is(err, context.DeadlineExceeded):
		outcome, silent = "failed", true
	case err != nil:
		outcome = "refused"
	}
	w.took.WithLabelValues(operation, outcome).Observe(time.Since(begun).Seconds())
	if w.silent.Swap(silent) == silent {
		return
	}
	w.since.Store(&begun)
	if silent {
		w.log.Warn("the blob store does not answer: clips are neither saved nor played until it does")
	} else {
		w.log.Info("the blob store answers again")
	}
}

// isSilent returns since when the store does not answer.
func (w *watchedBlobs) isSilent() (since time.Time, is bool) {
	if at := w.since.Load(); at != nil {
		since = *at
	}
	return since, w.silent.Load()
}

// Put implements blobs.Store.
func (w *watchedBlobs) Put(ctx context.Context, address blobs.Address, r io.Reader) (blob blobs.Blob, err error) {
	begun, source := time.Now(), &watchedSource{r: r}
	blob, err = w.Store.Put(ctx, address, source)
	if source.err == nil {
		w.note("put", begun, err)
	}
	return blob, err
}

// watchedSource distinguishes a source that breaks from a store that does.
type watchedSource struct {
	r   io.Reader
	err error
}

func (s *watchedSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Stat implements blobs.Store.
func (w *watchedBlobs) Stat(ctx context.Context, address blobs.Address) (blob blobs.Blob, err error) {
	defer func(begun time.Time) { w.note("stat", begun, err) }(time.Now())
	return w.Store.Stat(ctx, address)
}

// Open implements blobs.Store.
func (w *watchedBlobs) Open(ctx context.Context, address blobs.Address, offset, length int64) (r io.ReadCloser, err error) {
	defer func(begun time.Time) { w.note("open", begun, err) }(time.Now())
	return w.Store.Open(ctx, address, offset, length)
}

// Delete implements blobs.Store.
func (w *watchedBlobs) Delete(ctx context.Context, address blobs.Address) (err error) {
	defer func(begun time.Time) { w.note("delete", begun, err) }(time.Now())
	return w.Store.Delete(ctx, address)
}

// List implements blobs.Store.
func (w *watchedBlobs) List(ctx context.Context, prefix string) iter.Seq2[blobs.Blob, error] {
	return func(yield func(blobs.Blob, error) bool) {
		for blob, err := range w.Store.List(ctx, prefix) {
			if err != nil {
				w.note("list", time.Now(), err)
			}
			if !yield(blob, err) {
				return
			}
		}
	}
}

// nobodysBlobs is a prefix that no blob has: to list them costs a store one request.
const nobodysBlobs = "nobody-"

// lookAtBlobs finds out whether the store answers, also when nobody uses it.
func (w *watchedBlobs) lookAtBlobs(ctx context.Context) error {
	begun := time.Now()
	var failed error
	for _, err := range w.Store.List(ctx, nobodysBlobs) {
		failed = err
	}
	w.note("look", begun, failed)
	return nil // it is noted
}
