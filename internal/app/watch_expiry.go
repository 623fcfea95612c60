package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands/alerts"
	"github.com/recital-tts/recital/domain/alert"
	"github.com/recital-tts/recital/internal/process/postgres"
)

const (
	expiryTimeout = 10 * time.Second
	// expiryEvery is how often certificates are looked at.
	expiryEvery = 10 * time.Minute
)

// certificate is one whose end can be found out: that of a server, or one in a file.
type certificate struct {
	name    string                                       // of the server or the file, for people
	expires func(ctx context.Context) (time.Time, error) // the first of its chain or file to end
}

// watchExpiry looks for certificates that end within a limit. What cannot be found out now is as it was.
func watchExpiry(all []certificate, limit time.Duration) alerts.Watch {
	condition := func(name string) alert.Condition {
		return alert.Condition{Source: alert.ExpirySource, Subject: name, Reason: alert.Expiring}
	}
	ends := map[string]time.Time{}
	return alerts.Watch{
		Name: "the look at certificates", Every: expiryEvery, RaiseAfter: 1, ClearAfter: 1,
		Of: func(c alert.Condition) bool {
			return slices.ContainsFunc(all, func(one certificate) bool { return c == condition(one.name) && !ends[one.name].IsZero() })
		},
		Look: func(ctx context.Context) (found []alerts.Found, err error) {
			for _, one := range all {
				ctx, cancel := context.WithTimeout(ctx, expiryTimeout)
				end, err := one.expires(ctx)
				cancel()
				if err == nil {
					ends[one.name] = end
				}
				if end := ends[one.name]; !end.IsZero() && time.Until(end) < limit {
					found = append(found, alerts.Found{Condition: condition(one.name), Detail: "it ends at " + end.UTC().Format(time.RFC3339)})
				}
			}
			return found, nil
		},
	}
}

// certificates are those on which recitald and its clients depend.
func (p *parts) certificates() []certificate {
	all := p.cfg.storeCertificates()
	if u, err := url.Parse(p.cfg.Postgres); err == nil && p.cfg.Postgres != "" {
		all = append(all, certificate{"of Postgres", func(ctx context.Context) (time.Time, error) { return postgres.CertificateEnd(ctx, p.pool) }})
		all = append(all, inFile(u.Query().Get("sslcert"), firstEnd)...)
		all = append(all, inFile(u.Query().Get("sslrootcert"), lastEnd)...)
	}
	if u, err := url.Parse(p.cfg.PublicURL); err == nil && u.Scheme == "https" {
		all = append(all, served("of the public address", u.Host, "443"))
	}
	if p.cfg.blobsInS3() {
		if conf, err := p.cfg.s3(); err == nil && !conf.Location.Plain {
			all = append(all, served("of the blob store", conf.Location.Host, "443"))
		}
	}
	return all
}

// storeCertificates are those of the event store.
func (c Config) storeCertificates() (all []certificate) {
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
		all = append(all, served("of the event store "+host, host, "2113"))
	}
	all = append(all, inFile(options.Get("tlscafile"), lastEnd)...)
	return append(all, inFile(options.Get("usercertfile"), firstEnd)...)
}

// inFile returns the certificates of a file as one, whose end is that which of says. No path, and the system's authorities, are none.
func inFile(path string, of func([]*x509.Certificate) time.Time) []certificate {
	if path == "" || path == "system" {
		return nil
	}
	return []certificate{{"in the file " + path, func(context.Context) (time.Time, error) {
		all, err := readCertificates(path)
		return of(all), err
	}}}
}

// served returns the certificate of a server.
func served(name, host, port string) certificate {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, port)
	}
	return certificate{name, func(ctx context.Context) (time.Time, error) {
		// Nothing is sent and nothing is believed: an expired certificate is looked at, too.
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			return time.Time{}, err
		}
		defer connection.Close()
		return firstEnd(connection.(*tls.Conn).ConnectionState().PeerCertificates), nil
	}}
}

func readCertificates(path string) (all []*x509.Certificate, err error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading a certificate: %w", err)
		}
		all = append(all, one)
	}
}

// lastEnd returns when the last certificate ends; zero if there is none. A file of authorities is good while one of them is.
func lastEnd(all []*x509.Certificate) (end time.Time) {
	for _, one := range all {
		if one.NotAfter.After(end) {
			end = one.NotAfter
		}
	}
	return end
}

// firstEnd returns when the first certificate ends; zero if there is none.
func firstEnd(all []*x509.Certificate) (end time.Time) {
	for _, one := range all {
		if end.IsZero() || one.NotAfter.Before(end) {
			end = one.NotAfter
		}
	}
	return end
}
