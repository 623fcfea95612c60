package signin

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// MaxRedirect is the longest redirect in bytes.
const MaxRedirect = 2083

// Origins are the origins to which a browser may be sent when a sign-in has ended.
type Origins map[string]bool

// ParseOrigins reads origins such as https://app.example.com or http://localhost:3000.
func ParseOrigins(list []string) (Origins, error) {
	origins := Origins{}
	for _, text := range list {
		origin, ok := parseOrigin(text)
		if !ok {
			return nil, fmt.Errorf("the origin %q is not https://HOST or https://HOST:PORT (http for tests)", text)
		}
		origins[origin] = true
	}
	return origins, nil
}

func parseOrigin(text string) (origin string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	origin, err = originOf(u)
	return origin, err == nil
}

// Serialized returns the origins as browsers write them (RFC 6454, 6.2).
func (o Origins) Serialized() []string {
	var all []string
	for origin := range o {
		all = append(all, serialize(origin))
	}
	slices.Sort(all)
	return all
}

// SerializedOrigin returns the origin of a URL as browsers write it, "" where it has none.
func SerializedOrigin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	origin, err := originOf(u)
	if err != nil {
		return ""
	}
	return serialize(origin)
}

// Admit returns a redirect in the form that is sent to the browser, and reports whether its origin is one of the
// origins, or the origin of a URL at home. URLs that browsers may read differently than this program are never
// admitted.
func (o Origins) Admit(redirect, home string) (admitted string, ok bool) {
	if len(redirect) > MaxRedirect || strings.ContainsFunc(redirect, ambiguous) {
		return "", false
	}
	u, err := url.Parse(redirect)
	if err != nil {
		return "", false
	}
	origin, err := originOf(u)
	if err != nil || !o[origin] && !isAt(home, origin) {
		return "", false
	}
	admitted = u.String() // in which some characters take more room
	return admitted, len(admitted) <= MaxRedirect
}

// isAt reports whether a URL has an origin.
func isAt(home, origin string) bool {
	u, err := url.Parse(home)
	if err != nil {
		return false
	}
	at, err := originOf(u)
	return err == nil && at == origin
}

// SameSite reports whether two URLs are of one site, as browsers take it: one scheme and one registrable domain. An IP
// address, or a name without a registrable domain, such as localhost, is a site by itself. Ports do not count.
func SameSite(one, other string) bool {
	site := siteOf(one)
	return site != "" && site == siteOf(other)
}

// siteOf returns the site of a URL, "" where it has none.
func siteOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	origin, err := originOf(u)
	if err != nil {
		return ""
	}
	place, _, _ := strings.Cut(origin, " ")
	scheme, host, _ := strings.Cut(place, "://")
	if _, err := netip.ParseAddr(host); err == nil {
		return place
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return place
	}
	return scheme + "://" + domain
}

// ambiguous reports whether readers of URLs disagree about a character: some drop it, some take it for a slash.
func ambiguous(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }

var errOrigin = errors.New("it is not an http or https URL with a host and without a user")

var usualPorts = map[string]string{"http": "80", "https": "443"}

// serialize writes an origin of originOf without the port that is usual.
func serialize(origin string) string {
	place, port, _ := strings.Cut(origin, " ")
	scheme, host, _ := strings.Cut(place, "://")
	if port == usualPorts[scheme] {
		return scheme + "://" + strings.TrimSuffix(net.JoinHostPort(host, ""), ":")
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// originOf returns the origin of a URL: scheme, host and port, the latter always there (RFC 6454, 4).
func originOf(u *url.URL) (string, error) {
	port := usualPorts[u.Scheme]
	if port == "" || u.Opaque != "" || u.User != nil || u.Hostname() == "" {
		return "", errOrigin
	}
	host := u.Hostname()
	if !strings.Contains(host, ":") { // is no IPv6 address
		var err error
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return "", errOrigin
		}
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return u.Scheme + "://" + strings.ToLower(host) + " " + port, nil
}

// IsLoopback reports whether a host, with or without a port, is this machine.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}
