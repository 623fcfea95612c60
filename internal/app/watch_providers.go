package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/signin"
)

const (
	// providerLooks is how many looks pass from one to the next at a provider, which is somebody else's server.
	providerLooks = 6
	// reachTimeout is how long a provider may take to answer.
	reachTimeout = 10 * time.Second
	// Of notices, so many refused ones within noticeWindow, and no good one, say that the secret is wrong. Anybody can send bad ones.
	noticeWindow, badNotices = 10 * time.Minute, 5
)

// watchProvider looks whether somebody else's server answers. Whatever it says short of a failure of its own is an answer.
func (p *parts) watchProvider(source, url string) alerts.Watch {
	condition := p.here(source, alert.Unreachable)
	return alerts.Watch{
		Name: "the look at whether " + source + " answers", Every: providerLooks * p.cfg.alertEvery(), Of: alerts.One(condition),
		Look: func(ctx context.Context) ([]alerts.Found, error) {
			err := reach(ctx, url)
			if err == nil || ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return []alerts.Found{{Condition: condition, Detail: err.Error()}}, nil
		},
	}
}

func reach(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
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

// watchPayments looks at the payment provider, as its notices and its address show it.
func (p *parts) watchPayments() []alerts.Watch {
	url := cmp.Or(p.standIns.sandboxURL(), p.cfg.StripeURL, "https://api.stripe.com")
	return []alerts.Watch{p.watchProvider(alert.PaymentsSource, url), watchNotices(p.here(alert.PaymentsSource, alert.Refused), p.noticeCount.count)}
}

// vercelURL is where Vercel's API is.
const vercelURL = "https://api.vercel.com"

// watchHosting looks at the hosting platform, if there is one.
func (p *parts) watchHosting() []alerts.Watch {
	if p.hostingAt == "" && p.cfg.HostingClient == "" {
		return nil
	}
	return []alerts.Watch{p.watchProvider(alert.HostingSource, cmp.Or(p.hostingAt, p.cfg.HostingURL, vercelURL))}
}

// watchIssuers looks at the identity providers.
func (p *parts) watchIssuers(providers map[string]signin.Provider) (all []alerts.Watch) {
	for name, provider := range providers {
		all = append(all, p.watchProvider("idp/"+name, strings.TrimSuffix(provider.Issuer(), "/")+"/.well-known/openid-configuration"))
	}
	return all
}

// watchNotices looks whether the payment provider's notices are refused.
func watchNotices(c alert.Condition, count func() tally) alerts.Watch {
	recent := window{length: noticeWindow}
	return alerts.Watch{
		Name: "the look at refused notices", Of: alerts.One(c),
		Look: func(context.Context) ([]alerts.Found, error) {
			counted := recent.since(time.Now(), count())
			if counted.bad < badNotices || counted.bad < counted.all {
				return nil, nil
			}
			return []alerts.Found{{Condition: c, Detail: fmt.Sprintf("%d were refused within ten minutes, and none was accepted", counted.bad)}}, nil
		},
	}
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

func (n *noticeCounter) count() tally { return tally{all: n.all.Load(), bad: n.refused.Load()} }

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
			p.conditions.Over(condition)
		case ctx.Err() == nil:
			p.conditions.Holds(alerts.Found{Condition: condition, Detail: "the log of this instance says why"})
		}
		return err
	}
}
