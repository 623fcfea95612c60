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

// longestProfile is the maximum duration of a CPU profile.
const longestProfile = time.Minute

// ProfileRoute returns the row for the admin route table that serves profiles of this process.
func ProfileRoute() web.Route {
	return web.Get("/debug/pprof/{profile}", profile, web.Role("operator"), web.WhileDraining(), web.Tag("Operators"),
		web.Timeout(longestProfile+10*time.Second), web.Summary("Profile the process"),
		web.Description("For `go tool pprof`. A profile has functions with their use of resources, and no contents of the memory. "+
			"`profile` is a CPU profile. Only one is recorded at a time."),
		web.ReturnsMedia([]string{"application/octet-stream"}), web.Refuses(http.StatusConflict))
}

type profileRequest struct {
	Profile string `path:"profile" enum:"allocs,goroutine,heap,profile,threadcreate" doc:"The kind of profile."`
	Seconds int    `query:"seconds" default:"30" ge:"1" le:"60" doc:"The duration of a CPU profile."`
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

// recordCPU writes a CPU profile of a duration, or until the call has ended.
func recordCPU(call *web.Call, out *bytes.Buffer, lasts time.Duration) error {
	if err := pprof.StartCPUProfile(out); err != nil {
		return domain.Refuse(domain.Conflict, "Another CPU profile is being recorded; try again when it has ended")
	}
	defer pprof.StopCPUProfile()
	select {
	case <-call.Done():
		return call.Err()
	case <-time.After(lasts):
		return nil
	}
}
