package main_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

// soakClients is the number of concurrent clients.
const soakClients = 8

// TestSoakSpeech makes ten thousand requests of all kinds, with disconnecting clients and randomly killed workers.
func TestSoakSpeech(t *testing.T) {
	if os.Getenv("RECITAL_SOAK") == "" {
		t.Skip("RECITAL_SOAK is not set")
	}
	leaveNothingBehind(t, 500, 10_000)
}

func TestMixedRequestsLeaveNothingBehind(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	leaveNothingBehind(t, 15, 40)
}

// leaveNothingBehind makes requests to warm up, makes more to see whether resources grow, and compares usage with
// streamed characters.
func leaveNothingBehind(t *testing.T, warmUp, requests int) {
	server := start(t, dataFolder(t), "--engines=2", "--codecs=2")
	s := newSoak(t, server, "free", "indie", "indie", "pro", "premium", "enterprise")
	s.run(warmUp)
	s.awaitQuiet()
	s.awaitCollections(2)
	before := s.takeStock()

	s.run(requests)
	books := s.awaitQuiet()
	t.Logf("%d requests, %d processes killed:\n%s", len(s.outcomes), len(s.killed), s.summary())

	s.requireExplained()
	s.requireFair(books)
	books.requireAccountShows(t, s.customers...)
	s.requireClips()
	s.requireSameStock(before, requests)
	require.NotContains(t, read(t, server.log), "panic")
	requireCounts(t, s.customers[len(s.customers)-1])
}

// soak is a set of active clients with their outcomes.
type soak struct {
	t         *testing.T
	server    *server
	customers []customer
	random    *rand.Rand
	killed    []process

	mu       sync.Mutex
	outcomes []outcome
}

func newSoak(t *testing.T, server *server, plans ...string) *soak {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &soak{t: t, server: server, random: rand.New(rand.NewPCG(seed, 0))}
	for _, plan := range plans {
		s.customers = append(s.customers, server.openAccount(plan))
	}
	return s
}

// run executes a number of requests, and kills a worker before every twentieth.
func (s *soak) run(requests int) {
	s.t.Helper()
	begun, queue := time.Now(), make(chan soakRequest)
	var clients sync.WaitGroup
	for range soakClients {
		clients.Go(func() {
			for e := range queue {
				o := e.carryOut()
				s.mu.Lock()
				s.outcomes = append(s.outcomes, o)
				s.mu.Unlock()
			}
		})
	}
	for i := range requests {
		if i%20 == 19 {
			s.killWorker()
		}
		queue <- s.drawRequest()
		if i%500 == 499 {
			s.t.Logf("%d requests after %s, %d processes killed, %s", i+1, time.Since(begun).Round(time.Second), len(s.killed),
				s.takeStock())
		}
	}
	close(queue)
	clients.Wait()
}

// killWorker kills a worker, or the child of one with a job, unless a worker is missing already.
func (s *soak) killWorker() {
	s.t.Helper()
	workers := s.server.speechWorkers()
	if len(workers) < 2+1+2 {
		return
	}
	victim := workers[s.random.IntN(len(workers))]
	if children := childrenOf(victim.pid); len(children) > 0 && s.random.IntN(2) == 0 {
		victim = children[s.random.IntN(len(children))]
	}
	_ = syscall.Kill(victim.pid, syscall.SIGKILL) // an error means that it has exited
	s.killed = append(s.killed, victim)
}

// summary counts the requests by kind and by outcome.
func (s *soak) summary() string {
	counts := map[string]int{}
	for _, o := range s.outcomes {
		counts[o.way+": "+o.result]++
	}
	var lines strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&lines, "%6d %s\n", counts[kind], kind)
	}
	return lines.String()
}

// awaitQuiet waits until no request is in progress, every reservation is settled, and the read models show it.
func (s *soak) awaitQuiet() books {
	s.t.Helper()
	s.server.eventually(func() bool {
		return s.server.figure("recital_codec_streams") == 0 && s.server.figure("recital_speech_engines_busy") == 0 &&
			s.server.figure("recital_speech_jobs_waiting") == 0
	})
	return s.server.requireSettledBooks()
}

// requireExplained checks the statuses of all requests. There are at most as many server errors as the killed processes
// had streams.
func (s *soak) requireExplained() {
	s.t.Helper()
	faults := 0
	for _, o := range s.outcomes {
		require.Contains(s.t, []string{whole, cut, hungUp, refused}, o.result, "%s", o)
		if o.status >= 400 {
			// On a slow machine audio that is sent as a whole may exceed the time limit of requests: 504.
			require.Contains(s.t, []int{401, 402, 404, 422, 429, 503, 504}, o.status, "%s", o)
		}
		if o.result == cut || o.status == 503 {
			faults++
		}
	}
	require.LessOrEqual(s.t, faults, soakClients*len(s.killed))
}

// requireFair checks that the usage has all characters of requests that succeeded, none of those that were refused and
// whole segments of those that were interrupted, and that each account's usage is within the sum of these.
func (s *soak) requireFair(b books) {
	s.t.Helper()
	least, most := map[string]int64{}, map[string]int64{}
	for _, o := range s.outcomes {
		lower, upper := o.least, o.most
		switch { // unspeakable text is free
		case o.hostile:
			lower = 0
		case o.pieces != nil: // a flush may cut a full stop off
			lower = max(0, lower-unspoken(o.text))
		}
		if o.generation != "" {
			counted := b.settled[o.generation]
			require.GreaterOrEqual(s.t, counted, lower, "%s", o)
			require.LessOrEqual(s.t, counted, upper, "%s", o)
			if !o.hostile && lower < upper && counted < upper {
				require.Contains(s.t, segmentEnds(o.text), counted, "%s", o)
			}
			lower, upper = counted, counted
		}
		least[o.customer.id] += lower
		most[o.customer.id] += upper
	}
	for _, c := range s.customers {
		counted := b.charactersOf(c.id)
		s.t.Logf("%s: %d characters, between %d and %d were streamed", c.id, counted, least[c.id], most[c.id])
		require.GreaterOrEqual(s.t, counted, least[c.id])
		require.LessOrEqual(s.t, counted, most[c.id])
	}
}

// unspoken returns the number of characters that cannot be spoken in isolation.
func unspoken(text string) (n int64) {
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			n++
		}
	}
	return n
}

// requireClips checks that exactly the saved and not deleted clips exist, with their audio, and that no other audio
// exists, not even unfinished. Blobs with word times expire by themselves.
func (s *soak) requireClips() {
	s.t.Helper()
	least, most, all := map[string]int{}, map[string]int{}, 0
	for _, o := range s.outcomes {
		least[o.customer.id] += o.leastClips
		most[o.customer.id] += o.mostClips
	}
	for _, c := range s.customers {
		kept := c.clips(s.t).TotalClips
		require.GreaterOrEqual(s.t, kept, least[c.id])
		require.LessOrEqual(s.t, kept, most[c.id])
		all += kept
	}
	s.server.eventually(func() bool {
		sounds := slices.DeleteFunc(s.server.blobFiles(), func(path string) bool {
			return strings.HasPrefix(filepath.Base(path), "timestamps-")
		})
		return len(sounds) == all
	})
}
