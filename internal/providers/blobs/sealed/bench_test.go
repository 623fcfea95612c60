package sealed_test

import (
	"bytes"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/providers/blobs/s3test"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// stores returns the stores that are measured, by name.
func (v *vault) stores(b testing.TB) map[string]blobs.Store {
	b.Helper()
	location, err := s3.ParseURL(s3test.URL(s3test.Start(b).Address(), "bench"))
	require.NoError(b, err)
	remote, err := s3.Open(b.Context(), s3.Config{
		Location: location, Folder: "log", AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey,
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, remote.Close()) })
	return map[string]blobs.Store{"folder": v.plain, "s3": remote}
}

// BenchmarkPut measures how fast clips of one minute (MP3) and of ten (WAV) are stored, including the creation of their
// keys.
func BenchmarkPut(b *testing.B) {
	v := newVault(b)
	for name, store := range v.stores(b) {
		for size, content := range map[string][]byte{"0.5MiB": noise(512 << 10), "32MiB": noise(32 << 20)} {
			b.Run(name+"/"+size, func(b *testing.B) {
				vault := sealed.New(store, v.keys)
				var ours, bare time.Duration
				for b.Loop() {
					var blob, plain blobs.Blob
					ours += timed(func() {
						envelope, err := vault.Envelope(b.Context(), "a1", blobs.NewAddress(owner))
						require.NoError(b, err)
						blob, err = vault.Put(b.Context(), envelope, bytes.NewReader(content), int64(len(content)))
						require.NoError(b, err)
					})
					bare += timed(func() {
						var err error
						plain, err = store.Put(b.Context(), blobs.NewAddress(owner), bytes.NewReader(content), int64(len(content)))
						require.NoError(b, err)
					})
					require.NoError(b, store.Delete(b.Context(), blob.Address))
					require.NoError(b, store.Delete(b.Context(), plain.Address))
				}
				report(b, len(content), ours, bare)
			})
		}
	}
}

// BenchmarkRange measures how fast the beginning, a middle part and all of a blob of 32 MiB are read.
func BenchmarkRange(b *testing.B) {
	v := newVault(b)
	const size = 32 << 20
	content := noise(size)
	for name, store := range v.stores(b) {
		vault := sealed.New(store, v.keys)
		envelope, err := vault.Envelope(b.Context(), "a1", blobs.NewAddress(owner))
		require.NoError(b, err)
		blob, err := vault.Put(b.Context(), envelope, bytes.NewReader(content), int64(len(content)))
		require.NoError(b, err)
		plain, err := store.Put(b.Context(), blobs.NewAddress(owner), bytes.NewReader(content), int64(len(content)))
		require.NoError(b, err)
		for part, r := range map[string][2]int64{
			"first64KiB": {0, 64 << 10}, "middle64KiB": {size/2 + 100, 64 << 10}, "all": {0, size},
		} {
			b.Run(name+"/"+part, func(b *testing.B) {
				var ours, bare time.Duration
				for b.Loop() {
					ours += timed(func() { drain(b, r[1])(vault.Open(b.Context(), "a1", blob.Address, r[0], r[1])) })
					bare += timed(func() { drain(b, r[1])(store.Open(b.Context(), plain.Address, r[0], r[1])) })
				}
				report(b, int(r[1]), ours, bare)
			})
		}
	}
}

func timed(do func()) time.Duration {
	begun := time.Now()
	do()
	return time.Since(begun)
}

// drain reads the blob that Open returned, as for sending it to a client.
func drain(b *testing.B, length int64) func(io.ReadCloser, error) {
	return func(reader io.ReadCloser, err error) {
		require.NoError(b, err)
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{reader}, make([]byte, frame))
		require.NoError(b, err)
		require.Equal(b, length, n)
		require.NoError(b, reader.Close())
	}
}

// report reports MiB a second.
func report(b *testing.B, size int, ours, bare time.Duration) {
	rate := func(took time.Duration) float64 { return float64(size) * float64(b.N) / (1 << 20) / took.Seconds() }
	benchtest.Compare(b, "MiB/s", rate(ours), rate(bare))
	benchtest.Finish(b)
}
