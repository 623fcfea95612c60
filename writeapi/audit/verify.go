package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/internal/http/web"
)

const (
	longestCheck = 24 * time.Hour
	checks       = 2 // concurrent
)

// Verification checks the log for operators and auditors.
type Verification struct {
	Heads *audit.Heads

	running atomic.Int64
}

// AdminRoutes returns the rows for the admin route table.
func (v *Verification) AdminRoutes() []web.Route {
	return []web.Route{
		web.Get("/admin/audit/verification", v.verify, web.Role("operator", "auditor"), web.Tag("Auditors"),
			web.Resumed(longestCheck), web.Summary("Check the log against its signed heads"),
			web.Description("Server-sent events. The event `progress` has the progress of the check, `report` its findings, "+
				"and `failed` an error with advice; each of the last two is the end. "+
				"The instance checks with its own key, so its operator could forge the result: "+
				"auditors check with `recitalctl audit verify` on their own machine, with their own copies of the heads."),
			web.ReturnsMedia([]string{"text/event-stream"}, web.Means("Server-sent events, until the check has ended")),
			web.Refuses(http.StatusServiceUnavailable)),
	}
}

// verificationReply is the data of progress and report.
type verificationReply struct {
	audit.Verification
	Part     float64  `json:"part"` // part of the log that was read, 0 to 1
	Intact   bool     `json:"intact"`
	Findings []string `json:"findings"` // in words
}

func (v *Verification) verify(call *web.Call, _ struct{}) (web.Reply, error) {
	if v.running.Add(1) > checks {
		v.running.Add(-1)
		return web.Reply{}, &web.Error{Status: http.StatusServiceUnavailable,
			Message: "Too many checks of the log are running", RetryAfter: 10 * time.Second}
	}
	context.AfterFunc(call, func() { v.running.Add(-1) })
	return web.Stream("text/event-stream", v.write).WithHeader("Cache-Control", "no-store"), nil
}

func (v *Verification) write(ctx context.Context, w io.Writer) error {
	found, err := v.Heads.Verify(ctx, func(now audit.Verification) error {
		return writeEvent(w, "progress", replyOf(now))
	})
	if err != nil {
		failure := map[string]string{"error": "The check failed. Check the event store, then try again."}
		return writeEvent(w, "failed", failure)
	}
	return writeEvent(w, "report", replyOf(found))
}

func replyOf(v audit.Verification) verificationReply {
	reply := verificationReply{Verification: v, Part: 1, Intact: v.Intact(), Findings: []string{}}
	if v.Until.Commit > 0 && v.Position.Compare(v.Until) < 0 { // positions are not counts, but they grow with the log
		reply.Part = float64(v.Position.Commit) / float64(v.Until.Commit)
	}
	for _, finding := range v.Report.Findings {
		reply.Findings = append(reply.Findings, finding.String())
	}
	return reply
}

func writeEvent[T any](w io.Writer, name string, data T) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encoding the event %s: %w", name, err)
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, encoded)
	return err
}
