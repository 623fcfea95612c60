package readmodel

import (
	"time"

	"github.com/recital-tts/recital/internal/events/feed/table"
)

// Outgoing is the read model of unsent notices.
var Outgoing = Model{Name: "outgoing_notices", Version: 1}

// DueNoticeRow is a notice without an outcome on a channel.
type DueNoticeRow struct {
	Channel string    `col:"channel,key"`
	Notice  string    `col:"notice_id,key"`
	Account string    `col:"account_id"` // "" for the operators
	Item    string    `col:"item"`
	Stream  string    `col:"stream"`
	Due     time.Time `col:"due_at"`
	Cause   string    `col:"cause"`
}

// RecipientRow is an open account with a profile. RefusalRow is an account with an owner who wants no e-mail.
type (
	RecipientRow struct {
		Account string `col:"account_id,key"`
	}
	RefusalRow struct {
		Account string `col:"account_id,key"`
	}
)

// NoticeLimitRow is an hour in which a recipient reached the limit of a channel.
type NoticeLimitRow struct {
	Channel string `col:"channel,key"`
	Stream  string `col:"stream,key"`
}

// The tables behind the to-do lists of notices.
var (
	DueNotices   = table.Of[DueNoticeRow]("due_notices").Index("due_notices_due", "channel", "due_at")
	Recipients   = table.Of[RecipientRow]("notice_recipients")
	Refusals     = table.Of[RefusalRow]("notice_refusals")
	NoticeLimits = table.Of[NoticeLimitRow]("notice_limits")
)

// ToDoMailNoticeView lists the notices to send by e-mail. An item is a notice, and the cause is the event that it
// reports. Accounts without an address, accounts that want no e-mail, and notices from a time when notices were off are
// omitted.
var ToDoMailNoticeView = ToDoFrom(Outgoing, "todo_mail_notice", dueNotices("mail")+` and (d.account_id = ''
	or exists (select from notice_recipients r where r.account_id = d.account_id)
		and not exists (select from notice_refusals r where r.account_id = d.account_id))`)

// ToDoWebhookNoticeView lists the notices to post to the operators' webhook, for any recipient.
var ToDoWebhookNoticeView = ToDoFrom(Outgoing, "todo_webhook_notice", dueNotices("webhook"))

func dueNotices(channel string) string {
	return `select d.item, d.stream, d.due_at, d.cause from due_notices d
	where d.channel = '` + channel + `' and d.due_at > now() - interval '48 hours'
		and not exists (select from notice_limits l where l.channel = d.channel and l.stream = d.stream)`
}
