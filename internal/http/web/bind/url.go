package bind

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// httpURL checks and normalises a URL as a browser reads it (WHATWG URL, like pydantic's HttpUrl): space around it
// goes, line breaks and tabs inside go, backslashes are slashes. The normalised form is returned, so that whatever
// decides about its host sees the host that a browser would visit.
func httpURL(text string) (string, *fault) {
	if text == "" {
		return "", urlParsing("input is empty")
	}
	text = strings.TrimFunc(text, func(c rune) bool { return c <= ' ' })
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	scheme := schemePattern.FindString(text)
	if scheme == "" {
		return "", urlParsing("relative URL without a base")
	}
	rest := text[len(scheme):]
	scheme = strings.ToLower(strings.TrimSuffix(scheme, ":"))
	if scheme != "http" && scheme != "https" {
		return "", urlScheme()
	}
	rest = strings.TrimLeft(rest, `/\`)
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	authority, wrong := normalAuthority(rest[:end])
	if wrong != nil {
		return "", wrong
	}
	return scheme + "://" + authority + normalPath(rest[end:]), nil
}

// normalPath turns backslashes before the query into slashes.
func normalPath(rest string) string {
	end := strings.IndexAny(rest, "?#")
	if end < 0 {
		end = len(rest)
	}
	path := strings.ReplaceAll(rest[:end], `\`, "/")
	if path == "" {
		path = "/"
	}
	return path + rest[end:]
}

func normalAuthority(authority string) (string, *fault) {
	user, host := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, host = authority[:at+1], authority[at+1:]
	}
	port := ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon:]
	}
	if host == "" {
		return "", urlParsing("empty host")
	}
	host, wrong := normalHost(host)
	if wrong != nil {
		return "", wrong
	}
	if port == ":" {
		port = ""
	}
	if port != "" {
		if _, err := strconv.ParseUint(port[1:], 10, 16); err != nil || port[1] == '+' {
			return "", urlParsing("invalid port number")
		}
	}
	return user + host + port, nil
}

func normalHost(host string) (string, *fault) {
	if strings.HasPrefix(host, "[") {
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", urlParsing("invalid IPv6 address")
		}
		return "[" + addr.String() + "]", nil
	}
	const badName = "invalid international domain name"
	decoded, err := url.PathUnescape(host)
	if err != nil || strings.ContainsAny(decoded, " #%/:<>?@[\\]^|\x7f") || strings.ContainsFunc(decoded, func(c rune) bool { return c < ' ' }) {
		return "", urlParsing(badName)
	}
	name, err := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false)).ToASCII(decoded)
	if err != nil && !isASCII(decoded) || strings.HasSuffix(strings.ToLower(decoded), "xn--") {
		return "", urlParsing(badName)
	}
	if isASCII(decoded) && err != nil {
		name = strings.ToLower(decoded)
	}
	if endsInNumber(name) {
		addr, err := netip.ParseAddr(name)
		if err != nil || !addr.Is4() {
			return "", urlParsing("invalid IPv4 address")
		}
	}
	return name, nil
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c > '\x7f' })
}

// endsInNumber reports whether the WHATWG rules read the host as an IPv4 address.
func endsInNumber(host string) bool {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	return last != "" && strings.Trim(last, "0123456789") == ""
}
