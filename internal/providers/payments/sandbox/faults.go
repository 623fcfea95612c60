package sandbox

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// What goes wrong with a request.
const (
	FaultFail   = "fail"   // it is answered with 500; if it was committed, so are its repetitions
	FaultLimit  = "limit"  // it is answered with 429
	FaultCut    = "cut"    // its connection is cut
	FaultHang   = "hang"   // it is not answered before its connection is cut after Delay, or by the client
	FaultDelay  = "delay"  // it is answered after Delay
	FaultRefuse = "refuse" // there are no connections for Delay, or until Faults is called again
)

// Fault is something that goes wrong with requests to the API.
type Fault struct {
	Do        string
	Committed bool          // the request takes effect all the same
	Method    string        // of the requests that it befalls; "" means any
	Path      string        // how their paths begin, such as "/v1/subscriptions"
	Times     int           // how many of them; 0 means all
	Delay     time.Duration // see above
}

func (f Fault) check() error {
	if !slices.Contains([]string{FaultFail, FaultLimit, FaultCut, FaultHang, FaultDelay, FaultRefuse}, f.Do) {
		return fmt.Errorf("there is no fault %q", f.Do)
	}
	return nil
}

func (f Fault) befalls(r *http.Request) bool {
	return f.Do != FaultRefuse && f.Times > 0 && (f.Method == "" || f.Method == r.Method) && strings.HasPrefix(r.URL.Path, f.Path)
}

// faults are what goes wrong on demand.
type faults struct {
	mu      sync.Mutex
	all     []Fault
	stopped chan struct{} // ends what waits
}

// set replaces all faults. Requests that wait because of one are cut.
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
	f.all, f.stopped = all, make(chan struct{})
}

// next returns the fault that befalls a request, or the zero Fault, and what ends its wait.
func (f *faults) next(r *http.Request) (Fault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fault := range f.all {
		if fault.befalls(r) {
			f.all[i].Times--
			return fault, f.stopped
		}
	}
	return Fault{}, f.stopped
}

func (f *faults) list() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.all), func(fault Fault) bool { return fault.Times == 0 })
}

// Faults sets what goes wrong from now on; with none, all goes well again.
func (s *Sandbox) Faults(all ...Fault) error {
	var refused *Fault
	for _, f := range all {
		if err := f.check(); err != nil {
			return err
		}
		if f.Do == FaultRefuse {
			refused = &f
		}
	}
	s.faults.set(slices.Clone(all))
	if refused == nil {
		return s.door.open()
	}
	return s.door.shut(refused.Delay)
}

// faulty answers a request, unless a fault befalls it.
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
		given = failure(&problem{status: http.StatusTooManyRequests, Type: "invalid_request_error", Code: "rate_limit", Message: "Too many requests."})
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultHang:
		wait(r, stopped, fault.Delay)
		panic(http.ErrAbortHandler)
	case FaultDelay:
		if !wait(r, stopped, fault.Delay) {
			panic(http.ErrAbortHandler)
		}
	}
	respond(w, given)
}

func errSpoiled() error {
	return &problem{status: http.StatusInternalServerError, Type: "api_error", Message: "An unknown error occurred"}
}

// wait waits for some time, or for ever if that is 0. It returns false if it was interrupted.
func wait(r *http.Request, stopped <-chan struct{}, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return true
	case <-r.Context().Done():
		return false
	case <-stopped:
		return false
	}
}
