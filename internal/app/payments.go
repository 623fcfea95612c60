package app

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/providers/signin"
	"github.com/recital-tts/recital/readapi/billing"
)

// webhookPath is the path for the payment provider's notices.
const webhookPath = "/payments/webhook"

// nowhere is an address at which no payment provider answers, for recitald without a key and without the stand-ins.
const nowhere = "http://127.0.0.1:1"

// notices verify the payment provider's webhooks.
type notices struct {
	payments  payments.Notice
	analytics payments.Notice
	missed    func(time.Time) // is called with the time of each event without a notice
}

// paymentsSlice returns the slice of the payment provider. In mode dev without a key, a sandbox that operators can
// control replaces it.
func paymentsSlice(core *coreParts, providers *providerParts) slice {
	return slice{
		name: "payments",
		open: func() (service, error) {
			counter := &noticeCounter{since: time.Now()}
			access := core.cfg.provider(core.secrets.sandbox)
			var err error
			if providers.notices, err = access.notices(); err != nil {
				return service{}, err
			}
			providers.notices.payments = core.metrics.countNotices("payments", counter, providers.notices.payments)
			providers.notices.analytics = core.metrics.countNotices("analytics", &noticeCounter{}, providers.notices.analytics)
			providers.notices.missed = counter.miss
			conf := stripe.Config{
				Key: access.key, URL: access.url, Rate: core.cfg.StripeRate, Now: core.time.now, Logger: core.log,
				Watch: core.metrics.watchProvider("payments"),
			}
			switch url := providers.standIns.sandboxURL(); {
			case url != "":
				conf.URL = url
				conf.Rate = 0 // the sandbox has no limit
			case access.url == "" && !core.cfg.hasProvider():
				conf.URL = nowhere
			}
			gateway, err := stripe.New(conf)
			if err != nil {
				return service{}, err
			}
			providers.payments = gateway
			return service{
				admin: sandboxRoutes(core.cfg.Mode, providers.standIns), close: gateway.Close,
				checks: paymentChecks(core, providers, gateway, counter),
			}, nil
		},
	}
}

// paymentsAt returns the address of the payment provider, for people.
func (a *App) paymentsAt() string {
	url := a.standIns.sandboxURL()
	switch {
	case url == "" && a.cfg.StripeURL == "" && !a.cfg.hasProvider():
		return "nowhere: there is no program standins"
	case url == "":
		return cmp.Or(a.cfg.StripeURL, "Stripe")
	}
	return url + "  (a sandbox: recitalctl sandbox drives it)"
}

// providerAccess holds the address and keys of the payment provider.
type providerAccess struct {
	key       string
	url       string // empty for Stripe's own
	secrets   []string
	analytics []string
}

func (a providerAccess) notices() (n notices, err error) {
	if n.payments, err = stripe.NewNotices(a.secrets...); err != nil {
		return notices{}, err
	}
	n.analytics, err = stripe.NewNotices(a.analytics...)
	return n, err
}

// hasProvider reports whether a key of the payment provider is set.
func (c Config) hasProvider() bool { return cmp.Or(c.StripeKey, c.StripeKeyFile) != "" }

// provider returns the configured access, or the sandbox's, which instances with the same signing key share.
func (c Config) provider(development []byte) (a providerAccess) {
	a = providerAccess{key: c.StripeKey, url: c.StripeURL}
	if !c.hasProvider() {
		digits := hex.EncodeToString(development)
		a.key, a.secrets = "sk_test_"+digits[:32], []string{"whsec_" + digits[32:]}
		a.analytics = a.secrets
		return a
	}
	a.secrets, a.analytics = c.StripeSecret, c.AnalyticsSecret
	if len(a.analytics) == 0 {
		a.analytics = a.secrets
	}
	return a
}

func (c Config) checkPayments(m *Mistakes) {
	noticed := len(c.StripeSecret) > 0 || c.StripeSecretFile != ""
	m.when(c.Mode != modeProd && c.hasProvider() && !noticed, "stripe-webhook-secret",
		"the payment provider needs RECITAL_STRIPE_WEBHOOK_SECRET beside its key: "+
			"without it nothing that it sends can be believed")
	m.when(!c.hasProvider() && (noticed || len(c.AnalyticsSecret) > 0 || c.AnalyticsSecretFile != ""), "stripe-key",
		"the secrets of the payment provider's webhooks need RECITAL_STRIPE_KEY beside them")
	for flag, secrets := range map[string][]string{
		"stripe-webhook-secret": c.StripeSecret, "stripe-analytics-secret": c.AnalyticsSecret,
	} {
		m.when(slices.ContainsFunc(secrets, blank), flag,
			"a secret of the payment provider's webhooks is empty, so that anybody could sign with it")
	}
	m.add("stripe-url", c.checkProviderURL())
	m.add("stripe-publishable-key", c.checkPublishable())
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// checkProviderURL checks that the key is not sent in the clear and that prod uses no sandbox.
func (c Config) checkProviderURL() error {
	if c.StripeURL == "" {
		return nil
	}
	u, isOrigin := parseOrigin(c.StripeURL)
	switch {
	case !isOrigin:
		return errors.New("the payment provider's URL must be http(s)://HOST or http(s)://HOST:PORT")
	case c.Mode == modeProd && u.Scheme != "https":
		return errors.New("mode prod takes no sandbox for the payment provider: its URL must begin with https://")
	case u.Scheme != "https" && !signin.IsLoopback(u.Host):
		return errors.New("the payment provider's URL must begin with https://, unless it is on this machine")
	}
	return nil
}

// publishableKey matches Stripe's publishable keys. Other keys may be secret.
var publishableKey = regexp.MustCompile(`^pk_(test|live)_[A-Za-z0-9_]+$`)

// checkPublishable checks that the key is not a secret one, because it is published, and that it has a use.
func (c Config) checkPublishable() error {
	switch key := c.StripePublishable; {
	case key == "":
		return nil
	case !publishableKey.MatchString(key):
		return errors.New("the publishable key must begin with pk_test_ or pk_live_: it is shown to everybody, and a " +
			"secret key must not be")
	case !c.hasProvider():
		return errors.New("the publishable key of the payment provider needs RECITAL_STRIPE_KEY beside it")
	}
	return nil
}

// cardForm returns the form for entering cards: Stripe's, or in mode dev the sandbox's page.
func (c Config) cardForm(sandbox string) billing.CardForm {
	if c.StripePublishable != "" {
		return billing.CardForm{PublishableKey: &c.StripePublishable}
	}
	if c.Mode != modeProd {
		sandbox = cmp.Or(sandbox, c.StripeURL)
	}
	if sandbox == "" {
		return billing.CardForm{}
	}
	page := strings.TrimRight(sandbox, "/") + "/pages/cards/{client_secret}"
	return billing.CardForm{Page: &page}
}

// reconcile returns the interval of checking for missed notices of the payment provider.
func (c Config) reconcile() time.Duration { return cmp.Or(c.Reconcile, time.Hour) }

// paymentChecks returns the checks of the payment provider's address and notices, and of the account there.
func paymentChecks(
	core *coreParts, providers *providerParts, gateway *stripe.Gateway, notices *noticeCounter,
) []health.Check {
	url := cmp.Or(providers.standIns.sandboxURL(), core.cfg.StripeURL, "https://api.stripe.com")
	checks := []health.Check{
		core.providerCheck(alert.PaymentsSource, "the payment provider", url),
		noticesCheck(core.here(alert.PaymentsSource, alert.Refused), core.cfg.reconcile(), notices),
	}
	endpoint := ""
	if core.cfg.hasProvider() && core.cfg.PublicURL != "" { // recitald tells its own sandbox where to send notices
		endpoint = strings.TrimRight(core.cfg.PublicURL, "/") + webhookPath
	}
	if core.cfg.hasProvider() || providers.standIns.sandboxURL() != "" {
		checks = append(checks, accountCheck(gateway, endpoint))
	}
	return checks
}

// accountCheck returns the check that the account at the payment provider is set up for billing. Only the doctor runs
// it.
func accountCheck(gateway *stripe.Gateway, endpoint string) health.Check {
	look := func(ctx context.Context) health.Finding {
		results, err := gateway.Examine(ctx, endpoint)
		if err != nil {
			return health.Broken(err.Error(), "see RECITAL_STRIPE_KEY, and run recitalctl payments check")
		}
		f := health.Sound("%s", results[0].Found)
		for _, r := range results {
			if r.State == health.OK {
				continue
			}
			if f.State == health.OK {
				f.Found = ""
			}
			f.Found = strings.TrimPrefix(f.Found+"; "+r.Check+": "+r.Found, "; ")
			if f.State != health.Fault {
				f = f.But(r.State, r.Advice)
			}
		}
		return f
	}
	return health.Check{Name: "the account at the payment provider has what billing needs", Look: look}
}

// If badNotices notices are refused within noticeWindow, and none is accepted, the secret may be wrong. Strangers can
// send bad ones, so this alone raises no alert.
const noticeWindow, badNotices = 10 * time.Minute, 5

// noticesCheck returns the check that the payment provider's notices are not all refused. It raises an alert only if
// the last reconciliation found events without a notice.
func noticesCheck(condition alert.Condition, reconcile time.Duration, notices *noticeCounter) health.Check {
	recent, reconciled := health.Window{Length: noticeWindow}, health.Window{Length: reconcile + noticeWindow}
	look := func(context.Context) health.Finding {
		missed := reconciled.Since(time.Now(), health.Tally{Bad: notices.missed.Load()}).Bad
		counted := recent.Since(time.Now(), notices.count())
		f := health.Sound("%d of %d were refused within ten minutes", counted.Bad, counted.All)
		if counted.Bad < badNotices || counted.Bad < counted.All {
			return f
		}
		const advice = "see whether RECITAL_STRIPE_WEBHOOK_SECRET is the secret of this endpoint"
		if missed == 0 {
			return f.But(health.Warning, advice)
		}
		return f.But(health.Fault, advice).Raising(condition, time.Time{})
	}
	return health.Check{
		Name: "notices of the payment provider are genuine", Raises: condition.Is, Look: look,
	}
}

// noticeCounter counts notices, and events since a time without one.
type noticeCounter struct {
	since                              time.Time
	all, refused, otherVersion, missed atomic.Uint64
}

// miss counts an event without a notice. Notices of earlier events came while recitald was not running.
func (n *noticeCounter) miss(at time.Time) {
	if at.After(n.since) {
		n.missed.Add(1)
	}
}

func (n *noticeCounter) note(e payments.Event, err error) {
	n.all.Add(1)
	switch {
	case errors.Is(err, payments.ErrForged):
		n.refused.Add(1)
	case e.OtherVersion:
		n.otherVersion.Add(1)
	}
}

func (n *noticeCounter) count() health.Tally {
	return health.Tally{All: n.all.Load(), Bad: n.refused.Load()}
}

// countedNotices counts all notices and those that are refused.
type countedNotices struct {
	payments.Notice
	counter *noticeCounter
}

// Verify implements payments.Notice.
func (n countedNotices) Verify(body []byte, signature string, now time.Time) (payments.Event, error) {
	event, err := n.Notice.Verify(body, signature, now)
	n.counter.note(event, err)
	return event, err
}

// countNotices returns the notices of an endpoint, counted by counter, and registers their metrics.
func (m *metrics) countNotices(endpoint string, counter *noticeCounter, n payments.Notice) payments.Notice {
	const name = "recital_payment_notices_total"
	const help = "Notices of the payment provider, by endpoint and by whether it has signed them, just now."
	m.scrape(func() []prometheus.Metric {
		refused := counter.refused.Load() // read first, because note increments all first
		return []prometheus.Metric{
			total(name, help, counter.all.Load()-refused, "endpoint", endpoint, "signature", "genuine"),
			total(name, help, refused, "endpoint", endpoint, "signature", "forged"),
			total("recital_payment_notices_of_other_versions_total", "Of the genuine notices, by endpoint, those of a "+
				"version of the provider's interface that this release was not made for.",
				counter.otherVersion.Load(), "endpoint", endpoint),
		}
	})
	return countedNotices{n, counter}
}
