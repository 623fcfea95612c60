package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/signin"
)

const (
	// providerLooks is how many looks pass from one to the next at a provider, which is somebody else's server.
	providerLooks = 6
	// Of notices, so many refused ones within noticeWindow, and no good one, say that the secret is wrong. Anybody can
	// send bad ones.
	noticeWindow, badNotices = 10 * time.Minute, 5
)

// providerCheck looks whether somebody else's server answers. Any reply is an answer, except for a failure of its own.
func (p *parts) providerCheck(source, provider, url string) health.Check {
	condition := p.here(source, alert.Unreachable)
	return health.Check{
		Name: provider + " answers", Every: providerLooks * p.cfg.alertEvery(), Raises: condition.Is, Rules: []string{"RecitalProviderAway"},
		Look: func(ctx context.Context) health.Finding {
			if err := reach(ctx, url); err != nil {
				return health.Broken(err.Error(), "see whether it is away for others, too, and what is between").Raising(condition, time.Time{})
			}
			return health.Sound("%s", url)
		},
	}
}

func reach(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true} // a connection of its own is what is to be tried
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return nil
}

// paymentChecks look at the payment provider, as its notices and its address show it.
func (p *parts) paymentChecks() []health.Check {
	url := cmp.Or(p.standIns.sandboxURL(), p.cfg.StripeURL, "https://api.stripe.com")
	return []health.Check{
		p.providerCheck(alert.PaymentsSource, "the payment provider", url), noticesCheck(p.here(alert.PaymentsSource, alert.Refused), p.noticeCount.count),
	}
}

// vercelURL is where Vercel's API is.
const vercelURL = "https://api.vercel.com"

// hostingChecks look at the hosting platform, if there is one.
func (p *parts) hostingChecks() []health.Check {
	if p.hostingAt == "" && p.cfg.HostingClient == "" {
		return nil
	}
	return []health.Check{p.providerCheck(alert.HostingSource, "the hosting platform", cmp.Or(p.hostingAt, p.cfg.HostingURL, vercelURL))}
}

// issuerChecks look at the identity providers.
func (p *parts) issuerChecks(providers map[string]signin.Provider) (checks []health.Check) {
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		url := strings.TrimSuffix(providers[name].Issuer(), "/") + "/.well-known/openid-configuration"
		checks = append(checks, p.providerCheck("idp/"+name, "the identity provider "+name, url))
	}
	return checks
}

// noticesCheck looks whether the payment provider's notices are refused.
func noticesCheck(condition alert.Condition, count func() health.Tally) health.Check {
	recent := health.Window{Length: noticeWindow}
	return health.Check{Name: "notices of the payment provider are genuine", Raises: condition.Is, Rules: []string{"RecitalNoticesForged"}, Look: func(context.Context) health.Finding {
		counted := recent.Since(time.Now(), count())
		f := health.Sound("%d of %d were refused within ten minutes", counted.Bad, counted.All)
		if counted.Bad < badNotices || counted.Bad < counted.All {
			return f
		}
		return f.But(health.Fault, "see whether RECITAL_STRIPE_WEBHOOK_SECRET is the secret of this endpoint").Raising(condition, time.Time{})
	}}
}

// noticeCounter is a tally of notices.
type noticeCounter struct{ all, refused atomic.Uint64 }

func (n *noticeCounter) note(err error) {
	n.all.Add(1)
	if err != nil {
		n.refused.Add(1)
	}
}

// genuine returns how many were not refused.
func (n *noticeCounter) genuine() uint64 {
	refused := n.refused.Load() // first, because each was noted in all before
	return n.all.Load() - refused
}

func (n *noticeCounter) count() health.Tally {
	return health.Tally{All: n.all.Load(), Bad: n.refused.Load()}
}

// countedNotices counts the notices that come, and those that are refused.
type countedNotices struct {
	payments.Notice
	counter *noticeCounter
}

// Verify implements payments.Notice.
func (n countedNotices) Verify(body []byte, signature string, now time.Time) (payments.Event, error) {
	event, err := n.Notice.Verify(body, signature, now)
	n.counter.note(err)
	return event, err
}

// reconciling raises an alert while reconciliation fails.
func (p *parts) reconciling(run func(context.Context) error) func(context.Context) error {
	condition := p.here(alert.PaymentsSource, alert.Unreconciled)
	return func(ctx context.Context) error {
		err := run(ctx)
		switch {
		case err == nil:
			p.alerts.Over(condition)
		case ctx.Err() == nil:
			p.alerts.Holds(condition, time.Time{}, "the log of this instance says why")
		}
		return err
	}
}
