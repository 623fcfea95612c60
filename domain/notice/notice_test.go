package notice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/domain/spec"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func ended(id string, channel notice.Channel, outcome notice.Outcome) notice.Ended {
	return notice.Ended{Account: "a1", Notice: id, Kind: notice.UsageReached, Channel: channel, Outcome: outcome, At: noon}
}

func TestAnOutcome(t *testing.T) {
	end := func(id string, channel notice.Channel, outcome notice.Outcome) notice.End {
		return notice.End(ended(id, channel, outcome))
	}
	sent := ended("n1", notice.Mail, notice.Sent)
	reached := notice.LimitReached{Account: "a1", Notice: "n9", Channel: notice.Mail, At: noon}
	type events = []notice.Event
	spec.Run(t, notice.Evolve, []spec.Case[notice.State, notice.Event]{
		{Name: "is recorded", When: notice.End(sent), Then: events{sent}},
		{Name: "is recorded once", Given: events{sent}, When: end("n1", notice.Mail, notice.Refused)},
		{Name: "is that of a channel", Given: events{sent}, When: end("n1", notice.Webhook, notice.Refused),
			Then: events{ended("n1", notice.Webhook, notice.Refused)}},
		{Name: "of too much is the limit", Given: events{sent}, When: end("n9", notice.Mail, notice.Exceeded),
			Then: events{reached}},
		{Name: "of more than that is nothing", Given: events{reached}, When: end("n10", notice.Mail, notice.Exceeded)},
	})
}

func TestTheLimitOfAnHour(t *testing.T) {
	var s notice.State
	for i := range 20 {
		require.False(t, s.Exceeds(notice.Mail, "a1"))
		s = notice.Evolve(s, ended(fmt.Sprint(i), notice.Mail, notice.Sent))
	}
	require.True(t, s.Exceeds(notice.Mail, "a1"))
	require.False(t, s.Exceeds(notice.Webhook, "a1"))
	require.False(t, s.Exceeds(notice.Mail, ""), "the operators get more")
	require.True(t, notice.Evolve(notice.State{}, notice.LimitReached{Channel: notice.Mail}).Exceeds(notice.Mail, "a1"))
}

func TestAnItemHoldsTheWholeNotice(t *testing.T) {
	for _, n := range []notice.Notice{
		notice.OfUsage("a1", 80, 200_000), notice.OfSpending("a1", 80, 500, "usd"), notice.OfPayment("a1", "in_1", 2),
		notice.OfKey("a1", "rk_abcd****wxyz"),
		notice.OfAlert(alert.Condition{Source: "todo/expiry", Subject: "host:/a?b=c&d", Reason: alert.GaveUp}, noon, false),
	} {
		got, err := notice.Parse(n.Item())
		require.NoError(t, err)
		require.Equal(t, n, got)
		require.NotEmpty(t, n.Subject())
		require.NotContains(t, n.Body(), "%!")
	}
	for _, wrong := range []string{"", "usage", "usage/a1", "other/a1?x=y", "usage?%zz"} {
		_, err := notice.Parse(wrong)
		require.Error(t, err, wrong)
	}
}

func TestTextsOfOthersStayOnOneLineAndShort(t *testing.T) {
	evil := "x\r\nBcc: eve@example.com\x00" + strings.Repeat("ж", 10_000) + "\xff"
	n, err := notice.Parse(notice.OfPayment("a1", evil, 1).Item())
	require.NoError(t, err)
	require.NotContains(t, n.Details["invoice"], "\n")
	require.Len(t, []rune(n.Details["invoice"]), 300)
}

func TestAStreamIsThatOfAnHour(t *testing.T) {
	require.Equal(t, "notices-a1-1795521600", notice.Stream("a1", noon.Add(59*time.Minute)))
	require.Equal(t, "notices-operators-1795525200", notice.Stream("", noon.Add(time.Hour)))
}
