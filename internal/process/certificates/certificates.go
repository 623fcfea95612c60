// Package certificates determines when certificates expire.
package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"time"
)

// Certificate is the certificate chain of a server, or the certificates in a file.
type Certificate struct {
	Name string // of the server or the file, for people: "of Postgres"
	// End returns the expiry of the certificate, or zero if there is none.
	End func(ctx context.Context) (time.Time, error)
}

// Served returns the certificate of a server. port applies to a host without one.
func Served(name, host, port string) Certificate {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, port)
	}
	return Certificate{name, func(ctx context.Context) (time.Time, error) {
		// InsecureSkipVerify, because expired certificates are read, too. No data is exchanged.
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			return time.Time{}, err
		}
		defer connection.Close()
		return First(connection.(*tls.Conn).ConnectionState().PeerCertificates), nil
	}}
}

// InFile returns the certificates in a file as one Certificate, with its expiry from end, which is First or Last.
// Without a path it returns none.
func InFile(path string, end func([]*x509.Certificate) time.Time) []Certificate {
	if path == "" {
		return nil
	}
	return []Certificate{{"in the file " + path, func(context.Context) (time.Time, error) {
		all, err := read(path)
		return end(all), err
	}}}
}

func read(path string) (all []*x509.Certificate, err error) {
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

// Last returns the expiry of the certificate that expires last, or zero if there is none. A file of authorities is
// valid while one of them is.
func Last(all []*x509.Certificate) (end time.Time) {
	for _, one := range all {
		if one.NotAfter.After(end) {
			end = one.NotAfter
		}
	}
	return end
}

// First returns the expiry of the certificate that expires first, or zero if there is none. A chain is valid while all
// of it is.
func First(all []*x509.Certificate) (end time.Time) {
	for _, one := range all {
		if end.IsZero() || one.NotAfter.Before(end) {
			end = one.NotAfter
		}
	}
	return end
}
