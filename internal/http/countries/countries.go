// Package countries finds the country of an IP address in a database that the operator provides. None comes along:
// their licences forbid it.
package countries

import (
	"fmt"
	"net/netip"

	"github.com/oschwald/geoip2-golang/v2"
)

// Database is a file in MaxMind's format, held in memory. A Database of no file knows no country.
type Database struct{ reader *geoip2.Reader }

// Open opens a file; "" is none.
func Open(path string) (*Database, error) {
	if path == "" {
		return &Database{}, nil
	}
	reader, err := geoip2.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the database of countries: %w", err)
	}
	if _, err := reader.Country(netip.IPv6LinkLocalAllNodes()); err != nil {
		reader.Close()
		return nil, fmt.Errorf("the database %s has no countries: %w", path, err)
	}
	return &Database{reader: reader}, nil
}

// Of returns the country of an address in ISO 3166-1 alpha-2, "" where it is not known.
func (d *Database) Of(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || d.reader == nil {
		return ""
	}
	found, err := d.reader.Country(addr)
	if err != nil || !found.HasData() {
		return ""
	}
	return found.Country.ISOCode
}

// Close gives the memory back.
func (d *Database) Close() error {
	if d.reader == nil {
		return nil
	}
	return d.reader.Close()
}
