package signin

import (
	"cmp"
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
	u, origin := originOf(text)
	if origin == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	return origin, true
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
	_, origin := originOf(address)
	if origin == "" {
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
	u, origin := originOf(redirect)
	_, own := originOf(home)
	if origin == "" || !o[origin] && own != origin {
		return "", false
	}
	admitted = u.String() // in which some characters take more room
	return admitted, len(admitted) <= MaxRedirect
}

// SameSite reports whether two URLs are of one site, as browsers take it: one scheme and one registrable domain. An IP
// address, or a name without a registrable domain, such as localhost, is a site by itself. Ports do not count.
func SameSite(one, other string) bool {
	site := siteOf(one)
	return site != "" && site == siteOf(other)
}

// siteOf returns the site of a URL, "" where it has none.
func siteOf(address string) string {
	_, origin := originOf(address)
	if origin == "" {
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

// originOf parses a URL, and returns its origin: scheme, host and port, the latter always there (RFC 6454, 4). The
// origin is "" where the URL cannot be parsed, is not http or https, or has no host or a user.
func originOf(address string) (u *url.URL, origin string) {
	u, err := url.Parse(address)
	if err != nil || usualPorts[u.Scheme] == "" || u.Opaque != "" || u.User != nil || u.Hostname() == "" {
		return u, ""
	}
	host := u.Hostname()
	if !strings.Contains(host, ":") { // is no IPv6 address
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return u, ""
		}
	}
	return u, u.Scheme + "://" + strings.ToLower(host) + " " + cmp.Or(u.Port(), usualPorts[u.Scheme])
}

// IsLoopback reports whether a host, with or without a port, is this machine.
func IsLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}
