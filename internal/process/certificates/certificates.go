// Package certificates finds out when certificates end.
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

// Certificate is the chain of a server, or the content of a file.
type Certificate struct {
	Name string // of the server or the file, for people: "of Postgres"
	// End returns when the certificate ends; zero if there is none.
	End func(ctx context.Context) (time.Time, error)
}

// Served returns the certificate of a server. A host without a port has the one that is given.
func Served(name, host, port string) Certificate {
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, port)
	}
	return Certificate{name, func(ctx context.Context) (time.Time, error) {
		// Nothing is sent and nothing is believed: an expired certificate is looked at, too.
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			return time.Time{}, err
		}
		defer connection.Close()
		return First(connection.(*tls.Conn).ConnectionState().PeerCertificates), nil
	}}
}

// InFile returns the certificates of a file as one that ends when end says, First or Last. Without a path there is
// none.
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

// Last returns when the last certificate ends; zero if there is none. A file of authorities is good while one of them
// is.
func Last(all []*x509.Certificate) (end time.Time) {
	for _, one := range all {
		if one.NotAfter.After(end) {
			end = one.NotAfter
		}
	}
	return end
}

// First returns when the first certificate ends; zero if there is none. A chain is good while all of it is.
func First(all []*x509.Certificate) (end time.Time) {
	for _, one := range all {
		if end.IsZero() || one.NotAfter.Before(end) {
			end = one.NotAfter
		}
	}
	return end
}
