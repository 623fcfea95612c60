package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/internal/http/web"
)

const (
	longestCheck = 24 * time.Hour
	maxChecks    = 2 // concurrent
)

// verificationReply is the data of progress and report.
type verificationReply struct {
	audit.Verification
	Part     float64  `json:"part"` // part of the log that was read, 0 to 1
	Intact   bool     `json:"intact"`
	Findings []string `json:"findings"` // in words
}

func (a *API) verify(call *web.Call, _ struct{}) (web.Reply, error) {
	if a.checks.Add(1) > maxChecks {
		a.checks.Add(-1)
		return web.Reply{}, &web.Error{Status: http.StatusServiceUnavailable,
			Message: "Too many checks of the log are running", RetryAfter: 10 * time.Second}
	}
	context.AfterFunc(call, func() { a.checks.Add(-1) })
	return web.Stream("text/event-stream", a.writeCheck).WithHeader("Cache-Control", "no-store"), nil
}

func (a *API) writeCheck(ctx context.Context, w io.Writer) error {
	found, err := a.Heads.Verify(ctx, func(now audit.Verification) error {
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
