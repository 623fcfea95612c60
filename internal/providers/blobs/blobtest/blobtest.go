// Package blobtest is the contract suite that every blobs.Store passes.
package blobtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/blobs"
)

// Stuck is a store with a Put that hangs until it is released, even if its context ends.
type Stuck struct {
	blobs.Store
	Release chan struct{} // closed by the test
}

// Put implements blobs.Store.
func (s *Stuck) Put(context.Context, blobs.Address, io.Reader, int64) (blobs.Blob, error) {
	<-s.Release
	return blobs.Blob{}, errors.New("too late")
}

// patience bounds a test on a busy machine; nothing is timed.
const patience = time.Minute

const (
	alice blobs.Owner = "clip-0123456789abcdef"
	bob   blobs.Owner = "clip-fedcba9876543210"
)

// absent is an address without a blob.
var absent = blobs.NewAddress(alice)

// Run runs the suite. open returns an empty store; called again in one test, it reopens the same store like another
// process.
func Run(t *testing.T, open func(t *testing.T) blobs.Store) {
	tests := []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"put/keeps every byte", putKeepsBytes},
		{"put/lasts", putLasts},
		{"put/the same content twice is two blobs", putTwice},
		{"put/many at once", putAtOnce},
		{"put/again replaces the blob as a whole", putAgain},
		{"put/owners share nothing", putOwners},
		{"put/of a broken source stores nothing", putBroken},
		{"put/of another size stores nothing", putOtherSize},
		{"put/ends with its context", putEnds},
		{"put/with an ended context stores nothing", putEnded},
		{"put/takes bounded memory", putBounded},
		{"open/reads ranges", openRanges},
		{"open/past the end reads nothing", openPastEnd},
		{"open/refuses negative ranges", openNegative},
		{"open/many readers at once", openManyReaders},
		{"open/ends with its context", openEnds},
		{"delete/removes", deleteRemoves},
		{"delete/of a missing blob succeeds", deleteAbsent},
		{"delete/leaves others", deleteLeavesOthers},
		{"list/shows all", listShowsAll},
		{"list/shows those with a prefix", listPrefix},
		{"list/of a prefix that nothing has shows nothing", listNoPrefix},
		{"list/stops early", listStopsEarly},
		{"list/ends with its context", listEnds},
		{"addresses/that are none reach nothing", badAddresses},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			t.Cleanup(cancel)
			test.test(t, &bench{Store: open(t), ctx: ctx, again: open})
		})
	}
}

type bench struct {
	blobs.Store
	ctx   context.Context
	again func(t *testing.T) blobs.Store
}

func (b *bench) put(t *testing.T, owner blobs.Owner, content string) blobs.Blob {
	t.Helper()
	address := blobs.NewAddress(owner)
	blob, err := b.Put(b.ctx, address, strings.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	require.Equal(t, address, blob.Address)
	return blob
}

func (b *bench) read(t *testing.T, address blobs.Address, offset, length int64) string {
	t.Helper()
	reader, err := b.Open(b.ctx, address, offset, length)
	require.NoError(t, err)
	content, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	return string(content)
}

func (b *bench) list(t *testing.T, prefix string) map[blobs.Address]int64 {
	t.Helper()
	sizes := map[blobs.Address]int64{}
	for blob, err := range b.List(b.ctx, prefix) {
		require.NoError(t, err)
		require.NotContains(t, sizes, blob.Address, "listed twice")
		sizes[blob.Address] = blob.Size
	}
	return sizes
}

func (b *bench) requireNothing(t *testing.T) {
	t.Helper()
	require.Empty(t, b.list(t, ""))
}

func putKeepsBytes(t *testing.T, b *bench) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, content := range []string{"", "a", string(every), strings.Repeat(string(every), 5_000) + "odd"} {
		begun := time.Now().Add(-time.Minute) // clocks of stores may be other clocks
		blob := b.put(t, alice, content)
		require.NoError(t, blob.Address.Check())
		require.Equal(t, alice, blob.Address.Owner())
		require.EqualValues(t, len(content), blob.Size)
		require.True(t, blob.Stored.After(begun))
		require.Equal(t, content, b.read(t, blob.Address, 0, blob.Size))
		stat, err := b.Stat(b.ctx, blob.Address)
		require.NoError(t, err)
		require.WithinDuration(t, blob.Stored, stat.Stored, time.Minute, "by the store's clock, which may be another")
		stat.Stored = blob.Stored
		require.Equal(t, blob, stat)
	}
}

func putLasts(t *testing.T, b *bench) {
	blob := b.put(t, alice, "what was said")
	b.Store = b.again(t)
	require.Equal(t, "what was said", b.read(t, blob.Address, 0, 100))
	require.Equal(t, map[blobs.Address]int64{blob.Address: blob.Size}, b.list(t, ""))
}

func putTwice(t *testing.T, b *bench) {
	first, second := b.put(t, alice, "twice"), b.put(t, alice, "twice")
	require.NotEqual(t, first.Address, second.Address)
	require.Len(t, b.list(t, ""), 2)
	require.NoError(t, b.Delete(b.ctx, first.Address))
	require.Equal(t, "twice", b.read(t, second.Address, 0, 5))
}

func putAtOnce(t *testing.T, b *bench) {
	var (
		group sync.WaitGroup
		lock  sync.Mutex
		want  = map[blobs.Address]int64{}
	)
	for i := range 16 {
		group.Go(func() {
			blob, err := b.Put(b.ctx, blobs.NewAddress(alice), strings.NewReader(atOnce(i)), int64(len(atOnce(i))))
			assert.NoError(t, err)
			lock.Lock()
			defer lock.Unlock()
			want[blob.Address] = int64(len(atOnce(i)))
		})
	}
	group.Wait()
	require.Len(t, want, 16)
	require.Equal(t, want, b.list(t, ""))
}

// atOnce returns content of a length that identifies it.
func atOnce(i int) string { return strings.Repeat(string(rune('a'+i)), 100_000+i) }

func putAgain(t *testing.T, b *bench) {
	address := blobs.NewAddress(alice)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			_, err := b.Put(b.ctx, address, strings.NewReader(atOnce(i)), int64(len(atOnce(i))))
			assert.NoError(t, err)
		})
	}
	group.Wait()
	listed := b.list(t, "")
	require.Len(t, listed, 1)
	winner := int(listed[address]) - len(atOnce(0))
	require.Equal(t, atOnce(winner), b.read(t, address, 0, 1<<40))
}

func putOwners(t *testing.T, b *bench) {
	hers, his := b.put(t, alice, "the same"), b.put(t, bob, "the same")
	require.NotEqual(t, hers.Address.Name(), his.Address.Name(), "an address does not reveal the content")
	require.NoError(t, b.Delete(b.ctx, hers.Address))
	require.Equal(t, "the same", b.read(t, his.Address, 0, 100))
}

var errBroken = errors.New("the source broke")

func putBroken(t *testing.T, b *bench) {
	source := io.MultiReader(strings.NewReader(strings.Repeat("much ", 100_000)), &broken{})
	_, err := b.Put(b.ctx, blobs.NewAddress(alice), source, 500_001)
	require.ErrorIs(t, err, errBroken)
	b.requireNothing(t)
}

func putOtherSize(t *testing.T, b *bench) {
	for _, size := range []int64{4, 6} {
		_, err := b.Put(b.ctx, blobs.NewAddress(alice), strings.NewReader("hello"), size)
		require.ErrorIs(t, err, blobs.ErrSource)
	}
	b.requireNothing(t)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func putEnds(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	_, err := b.Put(ctx, blobs.NewAddress(alice), endless{then: cancel}, 1<<30)
	require.ErrorIs(t, err, context.Canceled)
	b.requireNothing(t)
}

// endless is a reader without an end; then is called at each read.
type endless struct{ then func() }

func (e endless) Read(p []byte) (int, error) {
	e.then()
	return len(p), nil
}

func putEnded(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err := b.Put(ctx, blobs.NewAddress(alice), strings.NewReader("late"), 4)
	require.ErrorIs(t, err, context.Canceled)
	b.requireNothing(t)
}

func putBounded(t *testing.T, b *bench) {
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	blob, err := b.Put(b.ctx, blobs.NewAddress(alice), io.LimitReader(endless{then: func() {}}, size), size)
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.EqualValues(t, size, blob.Size)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/4), "bytes that were allocated")
}

func openRanges(t *testing.T, b *bench) {
	content := "0123456789"
	address := b.put(t, alice, content).Address
	for offset := range len(content) {
		for length := range len(content) + 3 {
			want := content[offset:min(offset+length, len(content))]
			require.Equal(t, want, b.read(t, address, int64(offset), int64(length)), "%d bytes from %d", length, offset)
		}
	}
	require.Equal(t, content, b.read(t, address, 0, 1<<62))
}

func openPastEnd(t *testing.T, b *bench) {
	address := b.put(t, alice, "short").Address
	for _, offset := range []int64{5, 6, 1 << 40} {
		require.Empty(t, b.read(t, address, offset, 10))
	}
}

func openNegative(t *testing.T, b *bench) {
	address := b.put(t, alice, "short").Address
	for _, r := range [][2]int64{{-1, 1}, {0, -1}} {
		_, err := b.Open(b.ctx, address, r[0], r[1])
		require.Error(t, err)
	}
}

func openManyReaders(t *testing.T, b *bench) {
	content := strings.Repeat("many readers ", 20_000)
	address := b.put(t, alice, content).Address
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			reader, err := b.Open(b.ctx, address, int64(i), 100_000)
			if !assert.NoError(t, err) {
				return
			}
			defer reader.Close()
			got, err := io.ReadAll(reader)
			assert.NoError(t, err)
			assert.Equal(t, content[i:i+100_000], string(got))
		})
	}
	group.Wait()
}

func openEnds(t *testing.T, b *bench) {
	address := b.put(t, alice, strings.Repeat("x", 1<<20)).Address
	ctx, cancel := context.WithCancel(b.ctx)
	reader, err := b.Open(ctx, address, 0, 1<<20)
	require.NoError(t, err)
	defer reader.Close()
	_, err = io.ReadFull(reader, make([]byte, 10))
	require.NoError(t, err)
	cancel()
	_, err = io.Copy(io.Discard, reader)
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.Open(ctx, address, 0, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func (b *bench) requireAbsent(t *testing.T, address blobs.Address) {
	t.Helper()
	_, err := b.Stat(b.ctx, address)
	require.ErrorIs(t, err, blobs.ErrNotFound)
	_, err = b.Open(b.ctx, address, 0, 1)
	require.ErrorIs(t, err, blobs.ErrNotFound)
}

func deleteRemoves(t *testing.T, b *bench) {
	address := b.put(t, alice, "to be forgotten").Address
	require.NoError(t, b.Delete(b.ctx, address))
	b.requireAbsent(t, address)
	b.requireNothing(t)
}

func deleteAbsent(t *testing.T, b *bench) {
	b.requireAbsent(t, absent)
	require.NoError(t, b.Delete(b.ctx, absent))
	address := b.put(t, alice, "twice").Address
	require.NoError(t, b.Delete(b.ctx, address))
	require.NoError(t, b.Delete(b.ctx, address))
}

func deleteLeavesOthers(t *testing.T, b *bench) {
	gone, kept := b.put(t, alice, "gone"), b.put(t, alice, "kept")
	require.NoError(t, b.Delete(b.ctx, gone.Address))
	require.Equal(t, "kept", b.read(t, kept.Address, 0, 4))
	require.Equal(t, map[blobs.Address]int64{kept.Address: 4}, b.list(t, ""))
}

func listShowsAll(t *testing.T, b *bench) {
	want := map[blobs.Address]int64{}
	for i := range 700 { // more than one page of a list
		blob := b.put(t, alice, fmt.Sprint("number ", i))
		want[blob.Address] = blob.Size
	}
	require.Equal(t, want, b.list(t, ""))
}

func listPrefix(t *testing.T, b *bench) {
	var all []blobs.Blob
	for _, owner := range []blobs.Owner{
		alice, bob, "clip-0123456789abcdef0", "clips-0123456789abcdef", "voice-0123456789abcdef",
	} {
		all = append(all, b.put(t, owner, "one"), b.put(t, owner, "two"))
	}
	prefixes := []string{
		"", "c", "clip", "clip-", "clip-0", "clip-0123456789abcdef", "clips-", "v", "voice-0123456789abcde",
	}
	for _, blob := range all {
		prefixes = append(prefixes, blob.Address.Owner().Prefix(), string(blob.Address),
			string(blob.Address)[:len(blob.Address)-60])
	}
	for _, prefix := range prefixes {
		want := map[blobs.Address]int64{}
		for _, blob := range all {
			if strings.HasPrefix(string(blob.Address), prefix) {
				want[blob.Address] = blob.Size
			}
		}
		require.Equal(t, want, b.list(t, prefix), "%q", prefix)
	}
	require.Len(t, b.list(t, alice.Prefix()), 2)
}

func listNoPrefix(t *testing.T, b *bench) {
	good := b.put(t, alice, "good").Address
	for _, prefix := range []string{
		"-", ".", "..", "/", "../", "clip-.", "x", "clip_", "clip-x", "Clip-", "voice-0123456789abcdef.",
		"clip-0123456789abcdef.g",
		string(good) + "0", string(good) + "/", "clip-0123456789abcdef./", "clip-../../../etc.", "clip-\x00", "*", "clip-*",
		bob.Prefix(),
	} {
		require.Empty(t, b.list(t, prefix), "%q", prefix)
	}
}

func listStopsEarly(t *testing.T, b *bench) {
	for i := range 10 {
		b.put(t, alice, fmt.Sprint(i))
	}
	seen := 0
	for _, err := range b.List(b.ctx, "") {
		require.NoError(t, err)
		if seen++; seen == 3 {
			break
		}
	}
	require.Equal(t, 3, seen)
}

func listEnds(t *testing.T, b *bench) {
	b.put(t, alice, "one")
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	for _, prefix := range []string{"", "clip-", alice.Prefix()} {
		var last error
		for _, err := range b.List(ctx, prefix) {
			last = err
		}
		require.ErrorIs(t, last, context.Canceled)
	}
}

func badAddresses(t *testing.T, b *bench) {
	name := strings.Repeat("0", 64)
	good := b.put(t, alice, "good").Address
	for _, address := range []blobs.Address{
		"", ".", "..", "/etc/passwd", "../../etc/passwd", "clip-0123456789abcdef", blobs.Address(name),
		blobs.Address("clip-0123456789abcdef." + name[1:]), blobs.Address("clip-0123456789abcdef.../" + name[3:]),
		blobs.Address("../clip-0123456789abcdef." + name),
		blobs.Address("clip-0123456789abcdef." + strings.ToUpper("abcdef"+name[6:])),
		blobs.NewAddress(""), blobs.NewAddress("clip-"), blobs.NewAddress("clip"), blobs.NewAddress("clip-../../../etc"),
		blobs.NewAddress("clip-01234567\n"), blobs.NewAddress("Clip-0123456789"), blobs.NewAddress("clip-0123456789.0"),
		good + "/..", good + "\x00", good + "\n", "\n" + good,
	} {
		_, err := b.Put(b.ctx, address, strings.NewReader("x"), 1)
		require.ErrorIs(t, err, blobs.ErrAddress, "%q", address)
		_, err = b.Stat(b.ctx, address)
		require.ErrorIs(t, err, blobs.ErrAddress, "%q", address)
		_, err = b.Open(b.ctx, address, 0, 1)
		require.ErrorIs(t, err, blobs.ErrAddress, "%q", address)
		require.ErrorIs(t, b.Delete(b.ctx, address), blobs.ErrAddress, "%q", address)
	}
	require.Equal(t, "good", b.read(t, good, 0, 10))
	require.Len(t, b.list(t, ""), 1)
}
