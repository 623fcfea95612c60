package s3_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/s3"
	"github.com/recital-tts/recital/internal/providers/blobs/s3test"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// proxied returns a proxy in front of a server, and a store that reaches it through the proxy.
func proxied(t *testing.T, server *s3test.Server) (*toxiproxy.Proxy, s3.Config) {
	t.Helper()
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "way",
		"127.0.0.1:0", server.Address())
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	config := at(t, proxy.Listen)
	config.Silence, config.Pause = 500*time.Millisecond, time.Millisecond
	return proxy, config
}

func poison(t *testing.T, proxy *toxiproxy.Proxy, kind, stream, attributes string) {
	t.Helper()
	_, err := proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": %s}`, kind,
		stream, attributes)))
	require.NoError(t, err)
}

func TestAStoreRecoversFromFaultsWithoutLosses(t *testing.T) {
	longtest.Only(t)
	server := s3test.Start(t)
	long := strings.Repeat("long ", 2<<20)
	for name, trouble := range map[string]func(*testing.T, *toxiproxy.Proxy) (over func()){
		"it refuses connections": func(t *testing.T, proxy *toxiproxy.Proxy) func() {
			proxy.Stop()
			return func() { require.NoError(t, proxy.Start()) }
		},
		"it accepts connections and does not answer": func(t *testing.T, proxy *toxiproxy.Proxy) func() {
			poison(t, proxy, "timeout", "upstream", `{"timeout": 0}`)
			return func() { proxy.Toxics.ResetToxics(t.Context()) }
		},
		"its connections are cut in the middle": func(t *testing.T, proxy *toxiproxy.Proxy) func() {
			poison(t, proxy, "limit_data", "upstream", `{"bytes": 100000}`)
			return func() { proxy.Toxics.ResetToxics(t.Context()) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, config := proxied(t, server)
			config.Folder = fmt.Sprint(rand.Uint64())
			store, direct := open(t, config), config
			direct.Location, _ = s3.ParseURL(s3test.URL(server.Address(), "tests"))
			kept := put(t, store, long)

			// given a faulty connection, then blobs are not stored, not even partly
			over := trouble(t, proxy)
			for _, content := range []string{strings.Repeat("x", 200_000), long} {
				_, err := store.Put(t.Context(), blobs.NewAddress(owner), strings.NewReader(content), int64(len(content)))
				require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
			}
			for blob, err := range open(t, direct).List(t.Context(), "") {
				require.NoError(t, err)
				require.Equal(t, kept.Address, blob.Address)
			}

			// when the fault is over, then earlier blobs are there and new ones are stored
			over()
			require.Eventually(t, func() bool {
				_, err := store.Stat(t.Context(), kept.Address)
				return err == nil
			}, patience, 10*time.Millisecond)
			require.Equal(t, long, read(t, store, kept.Address))
			require.Equal(t, "again", read(t, store, put(t, store, "again").Address))
		})
	}
}

func TestAnInterruptedDownloadIsResumed(t *testing.T) {
	proxy, config := proxied(t, s3test.Start(t))
	store := open(t, config)
	content := make([]byte, 1_000_000)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	blob := put(t, store, string(content))
	poison(t, proxy, "limit_data", "downstream", `{"bytes": 300000}`)
	require.Equal(t, string(content), read(t, store, blob.Address))
}

func TestAStoreThatIsAwayAtTheStartMayComeLater(t *testing.T) {
	server := s3test.Start(t)
	server.Kill()
	config := at(t, server.Address())
	config.Pause = time.Millisecond
	store := open(t, config)
	_, err := store.Put(t.Context(), blobs.NewAddress(owner), strings.NewReader("early"), 5)
	require.ErrorIs(t, err, blobs.ErrUnavailable)
	server.Restart(t)
	require.Eventually(t, func() bool {
		_, err := store.Put(t.Context(), blobs.NewAddress(owner), strings.NewReader("later"), 5)
		return err == nil
	}, patience, 10*time.Millisecond)
}

func TestAnUnusableBucketIsReportedAtTheStart(t *testing.T) {
	server := s3test.Start(t)
	for code, change := range map[string]func(*s3.Config){
		"NoSuchBucket":          func(c *s3.Config) { c.Location.Bucket = "nowhere" },
		"SignatureDoesNotMatch": func(c *s3.Config) { c.SecretKey = "hidden-and-wrong" },
		"XAdminUserNotFound":    func(c *s3.Config) { c.AccessKey = "hidden-and-wrong" },
	} {
		config := at(t, server.Address())
		change(&config)
		_, err := s3.Open(t.Context(), config)
		require.ErrorContains(t, err, code)
		require.ErrorContains(t, err, config.Location.Bucket)
		require.NotContains(t, err.Error(), "hidden")
	}
}

// dieVariable makes the test binary a process that puts a blob and is killed.
const dieVariable = "RECITAL_TEST_S3_WRITER"

func TestAKilledWriterLeavesOnlyWholeBlobsAndUploadsToSweep(t *testing.T) {
	longtest.Only(t)
	server := s3test.Start(t)
	config := at(t, server.Address())
	config.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	store := open(t, config)
	const size = 12 << 20
	young := config
	young.Now = nil
	left := 0
	for at := 0; at <= size; at += 4 << 20 { // before the first request, after one part, after two, and at the end
		crash := exec.Command(os.Args[0], "-test.run=TestWriter")
		crash.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", dieVariable, server.Address(), config.Folder, at))
		output, err := crash.CombinedOutput()
		var died *exec.ExitError
		require.ErrorAs(t, err, &died, "%s", output)
		require.Equal(t, syscall.SIGKILL, died.Sys().(syscall.WaitStatus).Signal(), "%s", output)
		for range store.List(t.Context(), "") {
			require.Fail(t, "half a blob is listed")
		}
		left += len(unfinished(t, server))

		// then an unfinished upload is left for a day, as it might be in progress, and then swept
		aborted, err := open(t, young).Sweep(t.Context())
		require.NoError(t, err)
		require.Zero(t, aborted)
		want := len(unfinished(t, server))
		aborted, err = store.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, aborted)
		require.Empty(t, unfinished(t, server))
	}
	require.GreaterOrEqual(t, left, 2)
}

// TestWriter is the process that is killed.
func TestWriter(t *testing.T) {
	var address, folder string
	var after int64
	if n, _ := fmt.Sscan(os.Getenv(dieVariable), &address, &folder, &after); n != 3 {
		t.Skip("for TestAKilledWriterLeavesOnlyWholeBlobsAndUploadsToSweep")
	}
	config := at(t, address)
	config.Folder = folder
	store, err := s3.Open(context.Background(), config)
	require.NoError(t, err)
	_, err = store.Put(context.Background(), blobs.NewAddress(owner),
		io.MultiReader(io.LimitReader(zeros{}, after), killer{}), 12<<20+1)
	t.Fatal("still alive", err)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// killer ends the process without cleaning up.
type killer struct{}

func (killer) Read([]byte) (int, error) {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// unfinished returns the server's unfinished multipart uploads.
func unfinished(t *testing.T, server *s3test.Server) (ids []string) {
	t.Helper()
	transport, err := minio.DefaultTransport(false)
	require.NoError(t, err)
	defer transport.CloseIdleConnections()
	core, err := minio.NewCore(server.Address(), &minio.Options{
		Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, ""), Region: "us-east-1", Transport: transport,
	})
	require.NoError(t, err)
	list, err := core.ListMultipartUploads(t.Context(), s3test.Bucket, "", "", "", "", 1000)
	require.NoError(t, err)
	for _, upload := range list.Uploads {
		ids = append(ids, upload.UploadID)
	}
	return ids
}
