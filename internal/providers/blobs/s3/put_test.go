package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/providers/blobs/s3test"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/testlog"
)

func TestASmallBlobIsOneRequest(t *testing.T) {
	f := newFront(t, s3test.Start(t).Address(), pass)
	store := open(t, at(t, f.address))
	f.requests()
	for _, c := range []struct {
		size int
		want []string
	}{
		{0, []string{"put"}},
		{256 << 10, []string{"put"}},
		{5<<20 - 1, []string{"put"}},
		{12 << 20, []string{"begin", "part", "part", "part", "complete"}},
		{10 << 20, []string{"begin", "part", "part", "complete"}},
	} {
		blob := put(t, store, strings.Repeat("x", c.size))
		require.Equal(t, c.want, f.requests(), "%d bytes", c.size)
		require.EqualValues(t, c.size, blob.Size)
		require.Equal(t, c.size, len(read(t, store, blob.Address)))
		f.requests()
	}
}

func TestACompletionWithALostReplyCounts(t *testing.T) {
	// given a store that carries out the first completion but loses its reply, and does not know the upload afterwards
	var completions atomic.Int32
	f := newFront(t, s3test.Start(t).Address(),
		func(w http.ResponseWriter, r *http.Request, forward func(http.ResponseWriter)) {
			switch {
			case kindOf(r) != "complete":
				forward(w)
			case completions.Add(1) == 1:
				forward(discarded{http.Header{}})
				panic(http.ErrAbortHandler)
			default:
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, "<Error><Code>NoSuchUpload</Code></Error>")
			}
		})
	store := open(t, at(t, f.address))
	f.requests()

	// then the upload succeeds, because the blob is found
	content := strings.Repeat("long ", 2<<20)
	blob := put(t, store, content)
	require.Equal(t, []string{"begin", "part", "part", "complete", "complete", "abort", "head"}, f.requests())
	require.Equal(t, content, read(t, store, blob.Address))
}

type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// An answer of a store may quote the request.
const said = "zyzzogeton-said-by-the-store"

func TestErrorsAndTheLogDoNotQuoteTheStore(t *testing.T) {
	xml := func(code string) string {
		return "<Error><Code>" + code + "</Code><Message>" + said + "</Message><Key>" + said + "</Key><RequestId>" + said +
			"</RequestId></Error>"
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a refusal": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, xml("AccessDenied"))
		},
		"an error of its own": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, said)
		},
		"a page of HTML": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>"+said) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/"+said, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // requests that fail are repeated after pauses
			var (
				log    testlog.Buffer
				opened atomic.Bool
			)
			f := newFront(t, "", func(w http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) {
				if opened.Load() {
					answer(w, r)
					return
				}
				fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
			})
			config := at(t, f.address)
			config.Folder, config.Silence, config.Logger = "x", 500*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
			store := open(t, config)
			opened.Store(true)

			address := blobs.NewAddress(owner)
			content := "zyzzogeton-is-what-was-put"
			_, err := store.Put(t.Context(), address, strings.NewReader(content), int64(len(content)))
			errs := []error{err}
			_, err = store.Open(t.Context(), address, 0, 10)
			errs = append(errs, err)
			_, err = store.Stat(t.Context(), address)
			errs = append(errs, err)
			for _, err := range store.List(t.Context(), "") {
				errs = append(errs, err)
			}
			_, err = store.Sweep(t.Context())
			errs = append(errs, err, store.Delete(t.Context(), address))
			failed := 0
			for _, err := range errs {
				if err == nil {
					continue
				}
				failed++
				requireHarmless(t, err.Error())
				require.Equal(t, domain.Unavailable, domain.CodeOf(err), err)
			}
			require.Positive(t, failed)
			requireHarmless(t, log.String())
		})
	}
}

func requireHarmless(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{"zyzzogeton", s3test.SecretKey, s3test.AccessKey, "Signature", "clip-", "192.0.2.1"} {
		require.NotContains(t, text, secret)
	}
}

// The memory for uploads is bounded, regardless of their number.
func TestAStoreThatStallsHoldsFewUploads(t *testing.T) {
	longtest.Only(t)
	var begun atomic.Int32
	f := newFront(t, s3test.Start(t).Address(),
		func(w http.ResponseWriter, r *http.Request, forward func(http.ResponseWriter)) {
			if kindOf(r) != "begin" {
				forward(w)
				return
			}
			begun.Add(1)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
	store := open(t, at(t, f.address))
	ctx, cancel := context.WithCancel(t.Context())
	var uploads sync.WaitGroup
	for range 20 {
		uploads.Go(func() {
			_, err := store.Put(ctx, blobs.NewAddress(owner), zeros{}, 1<<30)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	require.Eventually(t, func() bool { return begun.Load() == 12 }, patience, 10*time.Millisecond)

	// then the others have not even begun
	cancel()
	uploads.Wait()
	require.EqualValues(t, 12, begun.Load())
}

func put(t testing.TB, store *s3.Store, content string) blobs.Blob {
	t.Helper()
	blob, err := store.Put(t.Context(), blobs.NewAddress(owner), strings.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	return blob
}

func read(t testing.TB, store *s3.Store, address blobs.Address) string {
	t.Helper()
	reader, err := store.Open(t.Context(), address, 0, 1<<40)
	require.NoError(t, err)
	content, err := io.ReadAll(reader)
	require.NoError(t, errors.Join(err, reader.Close()))
	return string(content)
}
