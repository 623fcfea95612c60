package sandbox

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/internal/standins"
)

// Faults of requests.
const (
	FaultFail   = "fail"   // answers with 500; if the request is committed, so are its repetitions
	FaultLimit  = "limit"  // answers with 429
	FaultCut    = "cut"    // cuts the connection
	FaultHang   = "hang"   // does not answer, and cuts the connection after Delay
	FaultDelay  = "delay"  // answers after Delay
	FaultRefuse = "refuse" // cuts all connections for Delay, or until the next call of Faults
)

// Fault is a failure of requests to the API.
type Fault struct {
	Do        string        `json:"do"`
	Committed bool          `json:"committed"` // perform the request before failing
	Method    string        `json:"method"`    // of affected requests; "" means any
	Path      string        `json:"path"`      // path prefix of affected requests, such as "/v1/subscriptions"
	Times     int           `json:"times"`     // number of affected requests; 0 means all
	Delay     standins.Span `json:"delay"`     // see Do
}

func (f Fault) affects(r *http.Request) bool {
	return f.Times > 0 && (f.Method == "" || f.Method == r.Method) && strings.HasPrefix(r.URL.Path, f.Path)
}

// faults holds the active faults.
type faults struct {
	mu      sync.Mutex
	all     []Fault
	since   time.Time
	stopped chan struct{}  // closed to end the waiting of requests
	decline map[string]int // number of payments to decline, by customer
}

// set replaces all faults, and cuts requests that are waiting because of a fault.
func (f *faults) set(all []Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range all {
		if all[i].Times == 0 {
			all[i].Times = math.MaxInt
		}
	}
	if f.stopped != nil {
		close(f.stopped)
	}
	f.all, f.since, f.stopped = all, time.Now(), make(chan struct{})
}

// next returns the fault that affects a request, or the zero Fault, and a channel that is closed when waiting has to
// end.
func (f *faults) next(r *http.Request) (Fault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.all {
		switch refuses := fault.Do == FaultRefuse; {
		case refuses && (fault.Delay == 0 || time.Since(f.since) < time.Duration(fault.Delay)):
			return Fault{Do: FaultCut}, f.stopped
		case !refuses && fault.affects(r):
			f.all[i].Times--
			return fault, f.stopped
		}
	}
	return Fault{}, f.stopped
}

// open returns the number of faults that are not used up.
func (f *faults) open() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, fault := range f.all {
		if fault.Times > 0 {
			n++
		}
	}
	return n
}

func (f *faults) failNext(customer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.decline == nil {
		f.decline = map[string]int{}
	}
	f.decline[customer]++
}

// failsNext reports whether the next payment of a customer is to be declined, and counts it.
func (f *faults) failsNext(customer string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.decline[customer] == 0 {
		return false
	}
	f.decline[customer]--
	return true
}

// Faults replaces all faults.
func (s *Sandbox) Faults(all ...Fault) error {
	for _, f := range all {
		if !slices.Contains([]string{FaultFail, FaultLimit, FaultCut, FaultHang, FaultDelay, FaultRefuse}, f.Do) {
			return fmt.Errorf("there is no fault %q", f.Do)
		}
	}
	s.faults.set(slices.Clone(all))
	return nil
}

// faulty answers a request with the fault that affects it, if there is one.
func (s *Sandbox) faulty(w http.ResponseWriter, r *http.Request, c *call) {
	fault, stopped := s.faults.next(r)
	if fault.Do == "" {
		respond(w, s.answer(w.Header(), c))
		return
	}
	var given reply
	if fault.Committed || fault.Do == FaultDelay {
		c.spoiled = fault.Do == FaultFail
		given = s.answer(w.Header(), c)
	}
	switch fault.Do {
	case FaultFail:
		given = failure(errSpoiled())
	case FaultLimit:
		given = failure(&problem{
			status: http.StatusTooManyRequests, Type: "invalid_request_error", Code: "rate_limit", Message: "Too many requests.",
		})
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultHang:
		wait(r, stopped, time.Duration(fault.Delay))
		panic(http.ErrAbortHandler)
	case FaultDelay:
		if !wait(r, stopped, time.Duration(fault.Delay)) {
			panic(http.ErrAbortHandler)
		}
	}
	respond(w, given)
}

func errSpoiled() error {
	return &problem{status: http.StatusInternalServerError, Type: "api_error", Message: "An unknown error occurred"}
}

// wait waits for d, or without limit if d is 0. It returns false if it is interrupted.
func wait(r *http.Request, stopped <-chan struct{}, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		over = time.After(d)
	}
	select {
	case <-over:
		return true
	case <-r.Context().Done():
	case <-stopped:
	}
	return false
}

const clockSetting = "clock"

// clock is the real time plus the sum of all advances.
type clock struct {
	ahead  atomic.Int64 // nanoseconds; only changes in transactions
	turned sync.Mutex   // held while due work is done
}

func (c *clock) load(tx *transaction) {
	var ahead int64
	tx.setting(clockSetting, &ahead)
	c.ahead.Store(ahead)
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())).UTC() }

// reach advances the clock to t, unless it is already past t.
func (c *clock) reach(t time.Time, tx *transaction) {
	c.ahead.Store(max(c.ahead.Load(), int64(time.Until(t))))
	tx.setSetting(clockSetting, c.ahead.Load())
}

// Now returns the sandbox's time.
func (s *Sandbox) Now() time.Time { return s.clock.now() }

// Advance advances the clock by d, and does the work that becomes due, in order.
func (s *Sandbox) Advance(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("the clock cannot go back by %s", -d)
	}
	target := s.clock.now().Add(d)
	if err := s.doDue(target); err != nil {
		return err
	}
	err := s.store.update(func(tx *transaction) error {
		s.clock.reach(target, tx)
		return nil
	})
	s.deliveries.wake()
	return err
}

// keepTime does due work until ctx ends.
func (s *Sandbox) keepTime(ctx context.Context) error {
	do := func(context.Context) error { return s.doDue(s.clock.now()) }
	return s.repeat(ctx, "do what is due", do, time.Second, nil)
}

// repeat calls do at an interval and whenever woken receives, until ctx ends.
func (s *Sandbox) repeat(
	ctx context.Context, what string, do func(context.Context) error, interval time.Duration, woken <-chan struct{},
) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Error("the payment sandbox cannot "+what, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-woken:
		case <-ticker.C:
		}
	}
}

// doDue does the work that is due at a time, each item with the clock at its own due time.
func (s *Sandbox) doDue(until time.Time) error {
	s.clock.turned.Lock()
	defer s.clock.turned.Unlock()
	for more := true; more; {
		err := s.store.update(func(tx *transaction) (err error) {
			more, err = s.doFirst(tx, until)
			return err
		})
		if err != nil {
			return err
		}
		s.deliveries.wake()
	}
	return nil
}

// doFirst does the first item of due work, and reports whether there was one.
func (s *Sandbox) doFirst(tx *transaction, until time.Time) (bool, error) {
	key, due := tx.firstDue("in", scheduleKind, "sub")
	if key == "" || due.After(until) {
		return false, nil
	}
	s.clock.reach(due, tx)
	w := s.work(tx)
	w.now = due
	switch kindOf(key) {
	case "sub":
		w.subscriptionDue(key)
	case scheduleKind:
		w.scheduleDue("sub_" + key)
	default:
		_, err := w.finalizeAndCollect(key)
		return true, err
	}
	return true, nil
}
