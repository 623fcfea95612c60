package notices_test

import (
	"testing"
	"time"

	commands "github.com/recital-tts/recital/commands/notices"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/internal/events/eventlog/eventtest"
)

func TestEventsAreReadForEver(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	eventtest.Golden(t, commands.Events(),
		eventtest.Of("notice-ended", 1, notice.Ended{Account: "a1", Notice: "c0ffee", Kind: notice.UsageReached,
			Channel: notice.Mail, Outcome: notice.Sent, At: noon}),
		eventtest.Of("notice-limit-reached", 1, notice.LimitReached{Account: "a1", Notice: "c0ffee", Channel: notice.Mail,
			At: noon}),
	)
}
