package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// promise is a client with its own accounts that checks what a slice promises during faults of processes, links and
// disks. Each slice has a file and a line in everyPromise.
type promise interface {
	// work makes a request to an instance and records the reply. An error is a broken promise.
	work(at *server, r *rand.Rand) error
	// settle makes the last requests, after the faults, when no reservation is open. Read models may be late.
	settle(at []*server, b books) error
	// check returns an error unless an instance shows exactly the recorded state.
	check(at *server, b books) error
	// customers returns the accounts that have the same answers on every instance.
	customers() []customer
	// String summarises the work.
	String() string
}

// everyPromise returns all clients, with accounts opened on the first instance.
func everyPromise(w *world, v stormClient) []promise {
	at := w.instances[0].server()
	return []promise{
		newUsageChecker(at, v), newUsageChecker(at, v), newQuotaChecker(at, v), newQuotaChecker(at, v), // ledger
		newNeuralChecker(w.t, at, v), newNeuralChecker(w.t, at, v), // installed voices
		newSocketChecker(at, v), newSocketChecker(at, v), // ledger, by sockets
		newCreditChecker(at, v), newCarryChecker(w.t, w.log(), v), // credit
		newReadChecker(at, v), newReadChecker(at, v), // reads
		newClipChecker(at, v), newClipChecker(at, v), // clips
		newKeyChecker(at, v), newKeyChecker(at, v), // accounts
		newClosingChecker(v), newClosingChecker(v), // accounts that close
		newSessionChecker(w.public, v), newSessionChecker(w.public, v), // sign-in and sessions
		newBillingChecker(w.provider, v), newBillingChecker(w.provider, v), // billing
		newBilledClosingChecker(w.provider, v), // closing with a subscription
		newHostingChecker(w, at, v),            // hosting
		newVoiceChecker(w.t, at, v),            // voices
		newSkipChecker(w, at, v),               // skips
	}
}

// stormLongestStream is short, so that unsettled reservations expire soon.
const stormLongestStream = 10 * time.Second

// TestStorm runs clients while processes are killed and frozen, a disk is full and links are slow. No acknowledged
// write may be lost, no undelivered text billed, no revoked key accepted, and no quota exceeded.
func TestStorm(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("RECITAL_STORM"), 64)
	if err != nil {
		t.Skip("RECITAL_STORM is not set to a number of minutes: make storm")
	}
	seed, err := strconv.ParseUint(os.Getenv("RECITAL_STORM_SEED"), 10, 64)
	require.NoError(t, err, "RECITAL_STORM_SEED")
	length := time.Duration(minutes * float64(time.Minute) / 2)
	t.Run("one instance with everything embedded", func(t *testing.T) { runStorm(t, embeddedWorld, seed, length) })
	t.Run("two instances on one store", func(t *testing.T) { runStorm(t, sharedWorld, seed, length) })
}

// storm is a world with the clients and the faults that struck it.
type storm struct {
	*world
	promises    []promise
	stormClient stormClient
	began       time.Time
	struck      map[string]int // faults, by name
}

func runStorm(t *testing.T, open func(*testing.T) *world, seed uint64, length time.Duration) {
	s := &storm{world: open(t), stormClient: newStormClient(), began: time.Now(), struck: map[string]int{}}
	defer s.stormClient.client.CloseIdleConnections()
	s.say("seed %d, %s", seed, length)
	s.promises = everyPromise(s.world, s.stormClient)
	stop := s.startClients(seed)
	s.rage(rand.New(rand.NewPCG(seed, 0)), length)
	stop()
	s.requireKept()
	s.sumUp(seed)
}

func (s *storm) say(format string, a ...any) {
	s.t.Helper()
	s.t.Logf("%6.1fs  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, a...))
}

// startClients runs each promise on random instances until stop is called.
func (s *storm) startClients(seed uint64) (stop func()) {
	var running sync.WaitGroup
	stopped := make(chan struct{})
	stop = sync.OnceFunc(func() { close(stopped); running.Wait() })
	s.t.Cleanup(stop)
	for i, p := range s.promises {
		r := rand.New(rand.NewPCG(seed, uint64(i+1)))
		running.Go(func() {
			for {
				select {
				case <-stopped:
					return
				case <-time.After(between(r, 0, 50*time.Millisecond)):
				}
				at := s.instances[r.IntN(len(s.instances))].server()
				if err := p.work(at, r); err != nil {
					s.t.Errorf("%6.1fs  %v", time.Since(s.began).Seconds(), err)
				}
			}
		})
	}
	return stop
}

// rage causes faults, sometimes two at once, and ends with all of them healed.
func (s *storm) rage(r *rand.Rand, length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); {
		time.Sleep(between(r, 100*time.Millisecond, 3*time.Second))
		first, second := r.IntN(len(s.faults)), r.IntN(2*len(s.faults))
		remedies := []remedy{s.strike(first, r)}
		if second < len(s.faults) && second != first {
			time.Sleep(between(r, 0, 300*time.Millisecond))
			remedies = append(remedies, s.strike(second, r))
		}
		time.Sleep(between(r, 100*time.Millisecond, 4*time.Second))
		for _, one := range remedies {
			if one.heal != nil {
				one.heal()
			}
		}
		for _, one := range remedies {
			if one.start != nil {
				one.start()
			}
		}
	}
}

func (s *storm) strike(i int, r *rand.Rand) remedy {
	f := s.faults[i]
	s.say("%s", f.name)
	s.struck[f.name]++
	return f.begin(r)
}

// requireKept checks all promises on every instance, before and after a rebuild.
func (s *storm) requireKept() {
	var at []*server
	for _, i := range s.instances {
		at = append(at, i.server())
	}
	s.eventually("nothing is reserved", func() error {
		if open := foldLog(s.t, s.log()).openReservations(); open > 0 {
			return fmt.Errorf("%d reservations are open", open)
		}
		return nil
	})
	b := foldLog(s.t, s.log())
	for _, p := range s.promises {
		require.NoError(s.t, p.settle(at, b))
	}
	s.requireAnswers(at)
	before := s.answers(at[0])
	at[0].recitalctl("projections", "rebuild", "--all", "--promote", "--format", "json")
	s.say("the read models were rebuilt")
	s.requireAnswers(at)
	for _, one := range at {
		require.Equal(s.t, before, s.answers(one))
	}
}

// requireAnswers waits until every instance keeps every promise.
func (s *storm) requireAnswers(at []*server) {
	s.eventually("every promise is kept", func() error {
		b := foldLog(s.t, s.log())
		for _, one := range at {
			for _, p := range s.promises {
				if err := p.check(one, b); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// calm is longer than a service needs to settle after faults: reservations expire, and read models catch up.
const calm = 3 * time.Minute

// eventually waits until a condition returns no error.
func (s *storm) eventually(what string, condition func() error) {
	s.t.Helper()
	var err error
	for end := time.Now().Add(calm); time.Now().Before(end); time.Sleep(2 * pause) {
		if err = condition(); err == nil {
			s.say("%s", what)
			return
		}
	}
	require.NoError(s.t, err, what)
}

// answers returns an instance's answers to each account.
func (s *storm) answers(at *server) map[string]string {
	all := map[string]string{}
	for _, p := range s.promises {
		for _, c := range p.customers() {
			for _, path := range []string{"/v1/account", "/v1/account/clips"} {
				answer, err := s.stormClient.ask(c.at(at).request(http.MethodGet, path, nil))
				require.NoError(s.t, err)
				all[c.id+path] = fmt.Sprint(answer.status, " ", strings.ReplaceAll(answer.text(), at.address, ""))
			}
		}
	}
	return all
}

func (s *storm) sumUp(seed uint64) {
	for _, p := range s.promises {
		s.say("%s", p)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(s.struck)) {
		s.say("%3d × %s", s.struck[name], name)
		total += s.struck[name]
	}
	s.say("seed %d: %d faults", seed, total)
}

// stormClient makes requests that may fail in any way.
type stormClient struct{ client *http.Client }

// stormPatience is the time limit of requests.
const stormPatience = 20 * time.Second

func newStormClient() stormClient {
	return stormClient{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: stormPatience}}
}

// ask returns the reply with any status.
func (v stormClient) ask(request *http.Request) (reply, error) {
	response, err := v.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{status: response.StatusCode, header: response.Header, body: body}, err
}

// asks returns the status of GET /v1/account with a key, or 0 without a reply.
func (v stormClient) asks(c customer) int {
	answer, _ := v.ask(c.request(http.MethodGet, "/v1/account", nil))
	return answer.status
}

// read decodes the reply to a GET request, which must succeed.
func (v stormClient) read(c customer, path string, into any) error {
	answer, err := v.ask(c.request(http.MethodGet, path, nil))
	if err == nil && answer.status != http.StatusOK {
		err = fmt.Errorf("%s of %s returns %d %s", path, c.id, answer.status, answer.text())
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(answer.body, into)
}

// openAccount opens an account with a key.
func (v stormClient) openAccount(at *server, plan string) (c customer, ok bool) {
	answer, err := v.ask(at.adminRequest(http.MethodPost, "/admin/accounts", `{"plan":"`+plan+`"}`))
	if err != nil || answer.status != http.StatusOK {
		return customer{}, false
	}
	return at.opened(answer), true
}

// settle is for promises without a last request.
func (stormClient) settle([]*server, books) error { return nil }

// customers is for promises without an account that has the same answers everywhere.
func (stormClient) customers() []customer { return nil }

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
