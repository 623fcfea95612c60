package app

import (
	"cmp"
	"context"
	"errors"
	"net/mail"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	commands "github.com/recital-tts/recital/commands/notices"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/domain/notice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/process/health"
	port "github.com/recital-tts/recital/internal/providers/notices"
	"github.com/recital-tts/recital/internal/providers/notices/outbox"
	"github.com/recital-tts/recital/internal/providers/notices/smtp"
	"github.com/recital-tts/recital/internal/providers/notices/webhook"
	"github.com/recital-tts/recital/internal/providers/signin"
	projections "github.com/recital-tts/recital/projections/notices"
	readapi "github.com/recital-tts/recital/readapi/notices"
	writeapi "github.com/recital-tts/recital/writeapi/notices"
)

// devOperators is the address for alerts in mode dev.
const devOperators = "operators@localhost"

// noticesSlice returns the slice of notices to the owners of accounts and the operators. None is sent until a mail
// server or a webhook is configured; mode dev keeps the e-mails in memory.
func noticesSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:       "notices",
		events:     commands.Events(),
		readModels: projections.ReadModels(),
		open: func() (service, error) {
			ended := core.metrics.newNoticeMetrics()
			notices := commands.New(commands.Config{
				Journal: core.journal, Accounts: shared.accounts, Keys: core.keys, Now: time.Now,
				Operators: cmp.Or(core.cfg.NoticesOperators, devOperators),
				Address:   readapi.Addresses{Models: core.projector}.Of,
				Observe: func(c notice.Channel, k notice.Kind, o notice.Outcome) {
					ended.WithLabelValues(string(c), string(k), string(o)).Inc()
				},
			})
			var s service
			return s, errors.Join(addMail(core, notices, &s), addWebhook(core, notices, &s))
		},
	}
}

// newNoticeMetrics returns the counter of outcomes. The usual ones are initialised to zero.
func (m *metrics) newNoticeMetrics() *prometheus.CounterVec {
	ended := m.counter("recital_notices_total", "Notices with an outcome that this instance has recorded.",
		"channel", "kind", "outcome")
	for _, channel := range notice.Channels() {
		for _, kind := range notice.Kinds() {
			ended.WithLabelValues(string(channel), string(kind), string(notice.Sent))
		}
	}
	return ended
}

// addMail adds the sending of notices by e-mail.
func addMail(core *coreParts, notices *commands.Notices, s *service) error {
	if core.cfg.SMTPServer == "" {
		if core.cfg.Mode == modeDev {
			var box outbox.Outbox
			write := writeapi.API{Outbox: box.Messages}
			s.admin = write.AdminRoutes()
			s.byPlan = append(s.byPlan, mailToDo(notices, &box))
		}
		return nil
	}
	sender, err := smtp.New(core.cfg.smtp())
	if err != nil {
		return err
	}
	s.byPlan = append(s.byPlan, mailToDo(notices, sender))
	s.checks = append(s.checks, mailCheck(core, sender))
	return nil
}

func mailToDo(notices *commands.Notices, sender port.Sender) toDo {
	return toDo{commands.MailProcess, readmodel.ToDoMailNoticeView, carryBy(notices, notice.Mail, sender)}
}

func carryBy(notices *commands.Notices, channel notice.Channel, sender port.Sender) carryOut {
	return func(ctx context.Context, item todo.Item) (eventlog.Position, error) {
		return notices.Carry(ctx, channel, sender, item)
	}
}

// addWebhook adds the sending of notices to the operators' webhook.
func addWebhook(core *coreParts, notices *commands.Notices, s *service) error {
	if core.cfg.NoticesWebhook == "" {
		return nil
	}
	sender, err := webhook.New(webhook.Config{
		URL: core.cfg.NoticesWebhook, Secret: core.cfg.NoticesSecret, Watch: core.metrics.watchProvider("webhook"),
	})
	if err != nil {
		return err
	}
	core.onClose("the connections to the operators' webhook", sender.Close)
	s.byPlan = append(s.byPlan, toDo{commands.WebhookProcess, readmodel.ToDoWebhookNoticeView,
		carryBy(notices, notice.Webhook, sender)})
	s.checks = append(s.checks, core.providerCheck(alert.WebhookSource, "the operators' webhook", core.cfg.NoticesWebhook))
	return nil
}

// mailCheck returns the check that the mail server answers, and accepts our credentials.
func mailCheck(core *coreParts, sender *smtp.Sender) health.Check {
	condition := core.here(alert.MailSource, alert.Unreachable)
	return health.Check{
		Name: "the mail server answers", Every: providerLooks * core.cfg.alertEvery(), Raises: condition.Is,
		Look: func(ctx context.Context) health.Finding {
			if err := sender.Check(ctx); err != nil {
				return health.Broken("it does not answer, or refuses the credentials",
					"see to the mail server, and to RECITAL_SMTP_USER and its password").Raising(condition, time.Time{})
			}
			return health.Sound("%s", core.cfg.SMTPServer)
		},
	}
}

func (c Config) smtp() smtp.Config {
	return smtp.Config{URL: c.SMTPServer, From: c.NoticesFrom, User: c.SMTPUser, Password: c.SMTPPassword}
}

// checkNotices adds the settings that are missing for notices.
func (c Config) checkNotices(m *Mistakes) {
	if c.SMTPServer != "" {
		m.when(!isAddress(c.NoticesFrom), "notices-from", "a mail server needs the e-mail address that notices come from")
		m.when(!isAddress(c.NoticesOperators), "notices-operators",
			"a mail server needs the e-mail address that alerts go to")
		if isAddress(c.NoticesFrom) {
			_, err := smtp.New(c.smtp())
			m.add("smtp-server", err)
		}
	}
	m.when((c.SMTPUser == "") != (cmp.Or(c.SMTPPassword, c.SMTPPasswordFile) == ""), "smtp-password",
		"the mail server needs both RECITAL_SMTP_USER and RECITAL_SMTP_PASSWORD, or its file, or none of them")
	m.when((c.NoticesWebhook == "") != (cmp.Or(c.NoticesSecret, c.NoticesSecretFile) == ""), "notices-webhook-secret",
		"the webhook needs both RECITAL_NOTICES_WEBHOOK and RECITAL_NOTICES_WEBHOOK_SECRET, or its file")
	if c.NoticesSecret != "" {
		_, err := webhook.Key(c.NoticesSecret)
		m.add("notices-webhook-secret", err)
	}
	m.add("notices-webhook", c.checkNoticesWebhook())
}

func isAddress(text string) bool {
	_, err := mail.ParseAddress(text)
	return err == nil
}

// checkNoticesWebhook prevents e-mail addresses from being sent in the clear.
func (c Config) checkNoticesWebhook() error {
	u, isAddress := parseAddress(c.NoticesWebhook)
	switch {
	case c.NoticesWebhook == "":
		return nil
	case !isAddress:
		return errors.New("the webhook must be https://HOST/PATH")
	case u.Scheme != "https" && (c.Mode == modeProd || !signin.IsLoopback(u.Host)):
		return errors.New("the webhook must begin with https://, unless it is on this machine and the mode is dev")
	}
	return nil
}
