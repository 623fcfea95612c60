package operations

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/pprof"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// longestProfile is the longest time in which the CPU's work is recorded.
const longestProfile = time.Minute

// ProfileRoute returns the row for the admin route table that serves profiles of this process.
func ProfileRoute() web.Route {
	return web.Get("/debug/pprof/{profile}", profile, web.Role("operator"), web.WhileDraining(), web.Tag("Operators"),
		web.Timeout(longestProfile+10*time.Second), web.Summary("Profile the process"),
		web.Description("For `go tool pprof`. A profile has functions with what they used, and nothing of what memory "+
			"holds. `profile` is the CPU's work, which is recorded once at a time."),
		web.ReturnsMedia([]string{"application/octet-stream"}), web.Refuses(http.StatusConflict))
}

type profileRequest struct {
	Profile string `path:"profile" enum:"allocs,goroutine,heap,profile,threadcreate" doc:"What is profiled."`
	Seconds int    `query:"seconds" default:"30" ge:"1" le:"60" doc:"How long the CPU's work is recorded."`
}

func profile(call *web.Call, in profileRequest) (web.Reply, error) {
	var out bytes.Buffer
	write := func() error { return pprof.Lookup(in.Profile).WriteTo(&out, 0) }
	if in.Profile == "profile" {
		write = func() error { return recordCPU(call, &out, time.Duration(in.Seconds)*time.Second) }
	}
	if err := write(); err != nil {
		return web.Reply{}, fmt.Errorf("profiling: %w", err)
	}
	return web.Bytes("application/octet-stream", out.Bytes()).WithHeader("Cache-Control", "no-store"), nil
}

// recordCPU writes a profile of the CPU's work for a time, or until the call has ended.
func recordCPU(call *web.Call, out *bytes.Buffer, lasts time.Duration) error {
	if err := pprof.StartCPUProfile(out); err != nil {
		return domain.Refuse(domain.Conflict, "The CPU's work is being recorded already; try again when that has ended")
	}
	defer pprof.StopCPUProfile()
	select {
	case <-call.Done():
		return call.Err()
	case <-time.After(lasts):
		return nil
	}
}
