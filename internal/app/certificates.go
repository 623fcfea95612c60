package app

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/process/certificates"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/postgres"
)

// expiryEvery is how often certificates are looked at.
const expiryEvery = 10 * time.Minute

// certificateChecks look for certificates that end within a limit.
func certificateChecks(all []certificates.Certificate, limit time.Duration) (checks []health.Check) {
	for _, one := range all {
		condition := alert.Condition{Source: alert.ExpirySource, Subject: one.Name, Reason: alert.Expiring}
		checks = append(checks, health.Check{
			Name: "the certificate " + one.Name + " is good for some time", Every: expiryEvery, RaiseAfter: 1, ClearAfter: 1, Raises: condition.Is,
			Look: func(ctx context.Context) health.Finding {
				end, err := one.End(ctx)
				if err != nil {
					return health.Sound("%s", err).But(health.Warning, "see whether the server answers").ButUnknown()
				}
				return ofCertificate(end, condition, limit)
			},
		})
	}
	return checks
}

func ofCertificate(end time.Time, condition alert.Condition, limit time.Duration) health.Finding {
	f := health.Sound("it ends at %s", end.UTC().Format(time.RFC3339))
	switch left := time.Until(end); {
	case end.IsZero():
		return health.Sound("none is used")
	case left < 0:
		return f.But(health.Fault, "renew it now").Raising(condition, time.Time{})
	case left < limit:
		return f.But(health.Warning, "renew it").Raising(condition, time.Time{})
	}
	return f
}

// certificates returns those on which recitald and its clients depend.
func (p *parts) certificates() []certificates.Certificate {
	all := p.cfg.storeCertificates()
	if u, err := url.Parse(p.cfg.Postgres); err == nil && p.cfg.Postgres != "" {
		all = append(all, certificates.Certificate{Name: "of Postgres", End: func(ctx context.Context) (time.Time, error) { return postgres.CertificateEnd(ctx, p.pool) }})
		all = append(all, certificates.InFile(u.Query().Get("sslcert"), certificates.First)...)
		if authorities := u.Query().Get("sslrootcert"); authorities != "system" {
			all = append(all, certificates.InFile(authorities, certificates.Last)...)
		}
	}
	if u, err := url.Parse(p.cfg.PublicURL); err == nil && u.Scheme == "https" {
		all = append(all, certificates.Served("of the public address", u.Host, "443"))
	}
	if p.cfg.blobsInS3() {
		if conf, err := p.cfg.s3(); err == nil && !conf.Location.Plain {
			all = append(all, certificates.Served("of the blob store", conf.Location.Host, "443"))
		}
	}
	return all
}

// storeCertificates returns those of the event store.
func (c Config) storeCertificates() (all []certificates.Certificate) {
	u, err := url.Parse(c.EventStore)
	if err != nil || c.EventStore == "" {
		return nil
	}
	options := url.Values{}
	for name, values := range u.Query() {
		options[strings.ToLower(name)] = values
	}
	if options.Get("tls") == "false" {
		return nil
	}
	for _, host := range strings.Split(u.Host, ",") {
		all = append(all, certificates.Served("of the event store "+host, host, "2113"))
	}
	all = append(all, certificates.InFile(options.Get("tlscafile"), certificates.Last)...)
	return append(all, certificates.InFile(options.Get("usercertfile"), certificates.First)...)
}
