package sealed_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/folder"
	"github.com/recital-tts/recital/internal/providers/blobs/sealed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	owner  blobs.Owner = "clip-0123456789abcdef"
	frame              = 64 << 10
	header             = 256
)

// vault is a sealed store over a real folder, with a real keyring.
type vault struct {
	*sealed.Store
	plain *folder.Store
	pool  *pgxpool.Pool
	keys  *pgkeys.Keyring
}

func newVault(t testing.TB) *vault {
	t.Helper()
	v := &vault{pool: pgtest.New(t)}
	var err error
	v.keys, err = pgkeys.New(pgkeys.Config{
		Pool: v.pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	v.plain, err = folder.Open(folder.Config{Dir: t.TempDir(), Instance: "a", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	v.Store = sealed.New(v.plain, v.keys)
	return v
}

// tester is a testing.TB or a rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// put seals content for an account.
func (v *vault) put(t tester, account string, content []byte) blobs.Address {
	t.Helper()
	envelope, err := v.Envelope(context.Background(), account, blobs.NewAddress(owner))
	require.NoError(t, err)
	blob, err := v.Put(context.Background(), envelope, bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	require.EqualValues(t, len(content), blob.Size)
	return blob.Address
}

// read returns the bytes of a range that could be read, and the error that ended it.
func (v *vault) read(account string, address blobs.Address, offset, length int64) ([]byte, error) {
	reader, err := v.Open(context.Background(), account, address, offset, length)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

// raw returns the sealed blob in the underlying store.
func (v *vault) raw(t tester, address blobs.Address) []byte {
	t.Helper()
	reader, err := v.plain.Open(context.Background(), address, 0, 1<<40)
	require.NoError(t, err)
	content, err := io.ReadAll(reader)
	require.NoError(t, errors.Join(err, reader.Close()))
	return content
}

// forge replaces the sealed blob in the underlying store.
func (v *vault) forge(t tester, address blobs.Address, content []byte) {
	t.Helper()
	_, err := v.plain.Put(context.Background(), address, bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
}

// noise returns random bytes, so that no two parts are equal.
func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	return content
}

func TestRangesMatchTheContent(t *testing.T) {
	v := newVault(t)
	rapid.Check(t, func(t *rapid.T) {
		near := func(name string, most int) int {
			at := rapid.IntRange(0, 4).Draw(t, name+" frames")*frame + rapid.IntRange(-2, 2).Draw(t, name+" off")
			if rapid.Bool().Draw(t, name+" anywhere") {
				at = rapid.IntRange(0, most).Draw(t, name)
			}
			return max(0, min(at, most))
		}
		content := noise(1 + near("size", 4*frame))
		address := v.put(t, "a1", content)
		for range 4 {
			offset := near("offset", len(content)-1)
			length := near("length", 5*frame)
			got, err := v.read("a1", address, int64(offset), int64(length))
			require.NoError(t, err)
			want := content[offset:min(offset+length, len(content))]
			require.True(t, bytes.Equal(want, got), "%d bytes from %d of %d", length, offset, len(content))
		}
	})
}

func TestHugeRanges(t *testing.T) {
	v := newVault(t)
	content := noise(frame + 1)
	address := v.put(t, "a1", content)
	for _, offset := range []int64{0, 1, frame} {
		got, err := v.read("a1", address, offset, math.MaxInt64)
		require.NoError(t, err)
		require.Equal(t, content[offset:], got)
	}
	for _, offset := range []int64{frame + 2, 2 * frame, 1 << 40, math.MaxInt64} { // beyond the end
		got, err := v.read("a1", address, offset, 1)
		require.Error(t, err, offset)
		require.Empty(t, got)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {math.MinInt64, math.MaxInt64}} {
		_, err := v.Open(t.Context(), "a1", address, r[0], r[1])
		require.Error(t, err)
	}
}

func TestContentIsNotReadable(t *testing.T) {
	v := newVault(t)
	secret := []byte(strings.Repeat("what was said ", 10_000))
	first, second := v.raw(t, v.put(t, "a1", secret)), v.raw(t, v.put(t, "a1", secret))
	require.NotContains(t, string(first), "what was said")
	require.NotEqual(t, first[header:], second[header:], "equal contents are sealed differently")
}

func TestClosingAnAccountMakesCopiesUnreadable(t *testing.T) {
	v := newVault(t)
	content := noise(3 * frame)
	address := v.put(t, "a1", content)
	kept := v.put(t, "a2", content)
	require.NoError(t, v.keys.Erase(t.Context(), "a1"))
	for _, offset := range []int64{0, frame} {
		_, err := v.read("a1", address, offset, 1)
		require.ErrorIs(t, err, keyring.ErrErased)
		require.True(t, keyring.Gone(err))
	}
	_, err := v.Envelope(t.Context(), "a1", blobs.NewAddress(owner))
	require.ErrorIs(t, err, keyring.ErrErased)
	got, err := v.read("a2", kept, 0, 10*frame)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

func TestAnUnavailableKeyringIsNotABrokenBlob(t *testing.T) {
	v := newVault(t)
	address := v.put(t, "a1", []byte("sound"))
	cold, err := pgkeys.New(pgkeys.Config{
		Pool: v.pool, MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	_, err = v.pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
	require.NoError(t, err)
	_, err = sealed.New(v.plain, cold).Open(t.Context(), "a1", address, 0, 1)
	require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	require.False(t, keyring.Gone(err))
}

func TestAMissingBlobIsNotFound(t *testing.T) {
	v := newVault(t)
	_, err := v.Open(t.Context(), "a1", blobs.NewAddress(owner), 0, 1)
	require.ErrorIs(t, err, blobs.ErrNotFound)
	_, err = v.Open(t.Context(), "a1", "../../etc/passwd", 0, 1)
	require.ErrorIs(t, err, blobs.ErrAddress)
}

func TestAnInterruptedBlobIsNotKept(t *testing.T) {
	v := newVault(t)
	broken := errors.New("the source broke")
	envelope, err := v.Envelope(t.Context(), "a1", blobs.NewAddress(owner))
	require.NoError(t, err)
	_, err = v.Put(t.Context(), envelope, io.MultiReader(bytes.NewReader(noise(3*frame)), failing{broken}), 4*frame)
	require.ErrorIs(t, err, broken)
	_, err = v.plain.Stat(t.Context(), envelope.Address)
	require.ErrorIs(t, err, blobs.ErrNotFound)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// An attacker who can write to the store cannot make Recital play other bytes than the ones saved.
func TestForgedBlobsAreRefused(t *testing.T) {
	v := newVault(t)
	content := noise(3*frame + 100)
	address, foreign := v.put(t, "a1", content), v.put(t, "a2", noise(3*frame+100))
	other := v.put(t, "a1", bytes.Repeat([]byte("other"), frame))
	good, frames := v.raw(t, address), func(from, to int) []byte {
		return v.raw(t, address)[header+from*(frame+32) : header+to*(frame+32)]
	}
	head, last := good[:header], good[header+3*(frame+32):]
	change := func(at int) []byte {
		changed := bytes.Clone(good)
		changed[at] ^= 1
		return changed
	}
	swapped := bytes.Join([][]byte{head, frames(1, 2), frames(0, 1), frames(2, 3), last}, nil)
	for name, forged := range map[string][]byte{
		"another blob of the account":     v.raw(t, other),
		"another account's blob":          v.raw(t, foreign),
		"its header before another's":     append(bytes.Clone(head), v.raw(t, other)[header:]...),
		"another's header before its own": append(bytes.Clone(v.raw(t, other)[:header]), good[header:]...),
		"in clear":                        content,
		"empty":                           {},
		"a header alone":                  head,
		"half a header":                   head[:100],
		"another version":                 change(15),
		"another length of the key":       change(17),
		"a huge length of the key":        change(16),
		"another key":                     change(40),
		"something behind the key":        change(header - 1),
		"another frame's header":          change(header + 3),
		"another byte":                    change(header + 1000),
		"another tag":                     change(header + frame + 31),
		"frames in another order":         swapped,
		"a frame twice":                   bytes.Join([][]byte{head, frames(0, 1), frames(0, 3), last}, nil),
		"a frame less":                    bytes.Join([][]byte{head, frames(0, 1), frames(2, 3), last}, nil),
		"cut between frames":              good[:header+2*(frame+32)],
		"cut before the last frame":       good[:len(good)-len(last)],
		"cut in a frame":                  good[:header+frame],
		"cut in the last frame":           good[:len(good)-1],
		"more behind the last frame":      append(bytes.Clone(good), last...),
	} {
		v.forge(t, address, forged)
		got, err := v.read("a1", address, 0, 10*frame)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, blobs.ErrNotFound, name)
		require.True(t, bytes.HasPrefix(content, got), "%s: the bytes read differ", name)
	}
	v.forge(t, address, good)
	got, err := v.read("a1", address, 0, 10*frame)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

// FuzzNothingElseIsRead changes a sealed blob and reads a range of it: the result is the content, or an error.
func FuzzNothingElseIsRead(f *testing.F) {
	v := newVault(f)
	content := noise(2*frame + 77)
	address := v.put(f, "a1", content)
	good := v.raw(f, address)
	f.Add(uint32(0), byte(1), uint32(len(good)), []byte{}, int64(0), int64(1<<40))
	f.Add(uint32(16), byte(0xFF), uint32(len(good)), []byte{}, int64(1), int64(1))
	f.Add(uint32(header+7), byte(0x80), uint32(header+frame+32), []byte("more"), int64(frame), int64(frame))
	f.Add(uint32(0), byte(0), uint32(header+2*(frame+32)), []byte{}, int64(2*frame), int64(77))
	f.Fuzz(func(t *testing.T, at uint32, change byte, length uint32, behind []byte, offset, size int64) {
		changed := bytes.Clone(good)
		changed[int(at)%len(changed)] ^= change
		v.forge(t, address, append(changed[:min(int(length), len(changed))], behind...))
		got, err := v.read("a1", address, offset, size)
		if len(got) > 0 {
			require.True(t, bytes.HasPrefix(content[min(offset, int64(len(content))):], got), "other bytes")
		}
		if err == nil && size > 0 {
			end := min(uint64(offset)+uint64(size), uint64(len(content)))
			require.EqualValues(t, end-uint64(offset), len(got), "the whole range, unless there is an error")
		}
	})
}

// counted counts how often a store is read.
type counted struct {
	blobs.Store
	opened int
}

func (c *counted) Open(ctx context.Context, address blobs.Address, offset, length int64) (io.ReadCloser, error) {
	c.opened++
	return c.Store.Open(ctx, address, offset, length)
}

// A player requests one part after another, and each request to a store in the cloud takes time.
func TestTheHeaderOfABlobIsReadOnce(t *testing.T) {
	v := newVault(t)
	content := noise(3 * frame)
	address := v.put(t, "a1", content)
	store := &counted{Store: v.plain}
	v.Store = sealed.New(store, v.keys)
	for i, opened := range []int{2, 3, 4} {
		offset := int64(frame + i)
		got, err := v.read("a1", address, offset, frame)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content[offset:offset+frame], got))
		require.Equal(t, opened, store.opened)
	}

	// then another account still cannot read the blob, and a deleted blob is not found
	_, err := v.read("a2", address, frame, 1)
	require.Error(t, err)
	require.NoError(t, v.keys.Erase(t.Context(), "a1"))
	_, err = v.read("a1", address, frame, 1)
	require.ErrorIs(t, err, keyring.ErrErased)
	require.NoError(t, v.plain.Delete(t.Context(), address))
	_, err = v.read("a1", address, frame, 1)
	require.ErrorIs(t, err, blobs.ErrNotFound)
}
