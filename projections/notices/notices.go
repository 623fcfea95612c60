// Package notices holds the to-do list of notices.
package notices

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/domain/subscription"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/table"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

// ReadModels returns the read models of this slice.
func ReadModels() []feed.Projection {
	return []feed.Projection{{
		Model: readmodel.Outgoing,
		Streams: eventlog.Streams{
			account.StreamPrefix, alert.Stream, alert.ConditionPrefix, ledger.StreamPrefix, notice.StreamPrefix,
			subscription.StreamPrefix,
		},
		Tables: []*table.Table{readmodel.DueNotices.Table, readmodel.Recipients.Table, readmodel.Refusals.Table,
			readmodel.NoticeLimits.Table},
		Views:  []readmodel.View{readmodel.ToDoMailNoticeView.View, readmodel.ToDoWebhookNoticeView.View},
		Handle: handle,
	}}
}

func handle(event eventlog.Decoded, rows *table.Rows) error {
	switch e := event.Event.(type) {
	case ledger.UsageReached:
		put(event, rows, notice.OfUsage(e.Account, e.Percent, e.Limit), e.At)
	case ledger.SpendingReached:
		put(event, rows, notice.OfSpending(e.Account, e.Percent, e.Cap, e.Currency), e.At)
	case account.APIKeyCreated:
		put(event, rows, notice.OfKey(e.Account, e.Masked), e.At)
	case subscription.PaymentFailed:
		put(event, rows, notice.OfPayment(e.Account, e.Invoice, e.Attempts), e.At)
	case alert.Raised:
		putAlert(event, rows, alert.Condition{Source: e.Source, Subject: e.Subject, Reason: e.Reason}, e.At, false)
	case alert.ConditionRaised:
		putAlert(event, rows, alert.Condition{Source: e.Source, Subject: e.Subject, Reason: e.Reason}, e.At, true)
	case notice.Ended:
		readmodel.DueNotices.Delete(rows, readmodel.DueNoticeRow{Channel: string(e.Channel), Notice: e.Notice})
	case notice.LimitReached:
		readmodel.NoticeLimits.Put(rows, readmodel.NoticeLimitRow{Channel: string(e.Channel), Stream: event.Stream})
		readmodel.DueNotices.Delete(rows, readmodel.DueNoticeRow{Channel: string(e.Channel), Notice: e.Notice})
	default:
		handleRecipient(event, rows)
	}
	return nil
}

// handleRecipient records which accounts get e-mail.
func handleRecipient(event eventlog.Decoded, rows *table.Rows) {
	switch e := event.Event.(type) {
	case account.ProfileRecorded:
		readmodel.Recipients.Put(rows, readmodel.RecipientRow{Account: e.Account})
	case account.EmailPreferencesSet:
		if e.WantsEmail {
			readmodel.Refusals.Delete(rows, readmodel.RefusalRow{Account: e.Account})
		} else {
			readmodel.Refusals.Put(rows, readmodel.RefusalRow{Account: e.Account})
		}
	case account.Closed:
		readmodel.Recipients.Delete(rows, readmodel.RecipientRow{Account: e.Account})
		readmodel.Refusals.Delete(rows, readmodel.RefusalRow{Account: e.Account})
	}
}

// putAlert puts the notice of an alert, unless the alert is about failed notices: its notice would fail, too.
func putAlert(event eventlog.Decoded, rows *table.Rows, c alert.Condition, at time.Time, lasting bool) {
	if !strings.HasSuffix(c.Source, "_notice") {
		put(event, rows, notice.OfAlert(c, at, lasting), at)
	}
}

func put(event eventlog.Decoded, rows *table.Rows, n notice.Notice, at time.Time) {
	item := n.Item()
	for _, channel := range notice.Channels() {
		readmodel.DueNotices.Put(rows, readmodel.DueNoticeRow{
			Channel: string(channel), Notice: uuid.NewSHA1(event.ID, []byte(item)).String(), Account: n.Account, Item: item,
			Stream: notice.Stream(n.Account, at), Due: at, Cause: event.ID.String(),
		})
	}
}
