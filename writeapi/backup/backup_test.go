package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/testing/testlog"
	"github.com/recital-tts/recital/writeapi/backup"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// store is a folder of blobs that counts its open readers, and can fail in the middle of a list.
type store struct {
	blobs.Store
	open   atomic.Int64
	broken atomic.Bool
}

type counted struct {
	io.ReadCloser
	open   *atomic.Int64
	closed atomic.Bool
}

func (s *store) Open(ctx context.Context, address blobs.Address, offset, length int64) (io.ReadCloser, error) {
	from, err := s.Store.Open(ctx, address, offset, length)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &counted{ReadCloser: from, open: &s.open}, nil
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.ReadCloser.Close()
}

func (s *store) List(ctx context.Context, prefix string) iter.Seq2[blobs.Blob, error] {
	return func(yield func(blobs.Blob, error) bool) {
		for blob, err := range s.Store.List(ctx, prefix) {
			if !yield(blob, err) {
				return
			}
			if s.broken.Load() {
				yield(blobs.Blob{}, errors.New("the disk is gone"))
				return
			}
		}
	}
}

// desk serves the routes on a real server, over a real folder of blobs. Blobs of owners that begin with "brief-" are
// due for deletion.
type desk struct {
	*testing.T
	store *store
	url   string
	said  testlog.Buffer // the folder's log
	seen  chan web.Observation
}

func openDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, seen: make(chan web.Observation, 100)}
	kept, err := folder.Open(folder.Config{Dir: t.TempDir(), Instance: "test",
		Logger: slog.New(slog.NewTextHandler(&d.said, nil))})
	require.NoError(t, err)
	d.store = &store{Store: kept}
	api := backup.API{Blobs: d.store,
		Fleeting: func(a blobs.Address) bool { return strings.HasPrefix(string(a), "brief-") }}
	d.url = webtest.Serve(t, web.Config{
		Routes: api.AdminRoutes(), Tokens: []operators.Token{operators.Single("operator", "op"),
			operators.Single("auditor", "au")},
		Observe: func(o web.Observation) {
			if strings.HasPrefix(o.Route, "/admin/backup/") {
				d.seen <- o
			}
		},
	})
	return d
}

func (d *desk) put(owner blobs.Owner, content []byte) blobs.Address {
	d.Helper()
	address := blobs.NewAddress(owner)
	_, err := d.store.Put(d.Context(), address, bytes.NewReader(content), int64(len(content)))
	require.NoError(d, err)
	return address
}

func (d *desk) get(token, path string) *http.Response {
	d.Helper()
	request, err := http.NewRequestWithContext(d.Context(), http.MethodGet, d.url+"/admin/backup/"+path, nil)
	require.NoError(d, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(d, err)
	d.Cleanup(func() { response.Body.Close() })
	return response
}

func TestBlobsAreForOperatorsAlone(t *testing.T) {
	d := openDesk(t)
	address := d.put("clip-12345678", []byte("sound"))
	for _, path := range []string{"blobs", "blob/" + string(address)} {
		require.Equal(t, http.StatusUnauthorized, d.get("", path).StatusCode, path)
		require.Equal(t, http.StatusUnauthorized, d.get("wrong", path).StatusCode, path)
		require.Equal(t, http.StatusForbidden, d.get("au", path).StatusCode, path)
		require.Equal(t, http.StatusOK, d.get("op", path).StatusCode, path)
	}
}

// line is a line of the list, as recitalctl reads it.
type line struct {
	Address blobs.Address `json:"address"`
	Size    int64         `json:"size"`
	Blobs   *int          `json:"blobs"`
}

// list returns the sizes of the listed blobs, and whether the list is marked as complete.
func (d *desk) list() (sizes map[blobs.Address]int64, whole bool) {
	d.Helper()
	response := d.get("op", "blobs")
	require.Equal(d, http.StatusOK, response.StatusCode)
	sizes = map[blobs.Address]int64{}
	for lines := json.NewDecoder(response.Body); ; {
		var next line
		if err := lines.Decode(&next); err != nil {
			return sizes, false
		}
		if next.Blobs != nil {
			require.Len(d, sizes, *next.Blobs)
			require.ErrorIs(d, lines.Decode(&next), io.EOF)
			return sizes, true
		}
		sizes[next.Address] = next.Size
	}
}

func TestTheListHasAllBlobsThatAreKept(t *testing.T) {
	d := openDesk(t)
	sizes, whole := d.list()
	require.Empty(t, sizes)
	require.True(t, whole)

	want := map[blobs.Address]int64{}
	for n := range 300 {
		want[d.put("clip-12345678", make([]byte, n))] = int64(n)
	}
	d.put("brief-12345678", []byte("for minutes only"))
	sizes, whole = d.list()
	require.Equal(t, want, sizes)
	require.True(t, whole)
}

func TestAListThatFailsIsNotWhole(t *testing.T) {
	d := openDesk(t)
	for range 3 {
		d.put("clip-12345678", []byte("sound"))
	}
	d.store.broken.Store(true)
	_, whole := d.list()
	require.False(t, whole)
	d.store.broken.Store(false)
	_, whole = d.list()
	require.True(t, whole)
}

func TestABlobIsReadAsItIs(t *testing.T) {
	d := openDesk(t)
	for _, content := range [][]byte{{}, {0, 255, '\n'}, bytes.Repeat([]byte("0123456789abcdef"), 20_000)} {
		response := d.get("op", "blob/"+string(d.put("voice-12345678", content)))
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.EqualValues(t, len(content), response.ContentLength)
		got, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, got))
	}
	d.requireAllClosed()
}

func TestWhatIsNoBlobIsNotFound(t *testing.T) {
	d := openDesk(t)
	address := string(d.put("clip-12345678", []byte("sound")))
	require.NoError(t, d.store.Delete(t.Context(), blobs.Address(address)))
	for _, other := range []string{address, strings.ToUpper(address), address + "0", "lock", "..%2f..%2fetc%2fpasswd",
		"%2e%2e", "clip-12345678.", strings.Repeat("a", 4000)} {
		response := d.get("op", "blob/"+other)
		require.Equal(t, http.StatusNotFound, response.StatusCode, other)
	}
	d.requireAllClosed()
}

// A client that hangs up in the middle of a blob leaves nothing open, and the rest is not read.
func TestAClientThatHangsUpLeavesNothingOpen(t *testing.T) {
	d := openDesk(t)
	address := d.put("clip-12345678", make([]byte, 64<<20))
	for range 20 {
		response := d.get("op", "blob/"+string(address))
		_, err := io.ReadFull(response.Body, make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		observed := <-d.seen
		require.Equal(t, 499, observed.Status)
	}
	d.requireAllClosed()
	require.Empty(t, d.said.String(), "the store is not to blame")
}

func (d *desk) requireAllClosed() {
	d.Helper()
	require.Eventually(d, func() bool { return d.store.open.Load() == 0 }, time.Minute, time.Millisecond,
		"a blob is left open")
}
