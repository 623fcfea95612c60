package web

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/recital-tts/recital/internal/http/web/quota"
)

// clientOf returns the address of a request's client. Behind trusted proxies it is the rightmost address in X-Forwarded-For
// that is none of theirs: those to the left of it are what the client says. A proxy that names no client is the client.
func (s *Server) clientOf(http *fasthttp.RequestCtx) netip.Addr {
	client := quota.Address(http.RemoteAddr())
	if !s.trusts(client) {
		return client
	}
	var hops []string
	for _, line := range http.Request.Header.PeekAll("X-Forwarded-For") {
		hops = append(hops, strings.Split(string(line), ",")...)
	}
	for _, hop := range slices.Backward(hops) {
		before, err := parseHop(strings.TrimSpace(hop))
		if err != nil {
			return client
		}
		if client = before; !s.trusts(client) {
			return client
		}
	}
	return client
}

// parseHop reads an address, which some proxies write with its port.
func parseHop(hop string) (netip.Addr, error) {
	if host, _, err := net.SplitHostPort(hop); err == nil {
		hop = host
	}
	addr, err := netip.ParseAddr(strings.Trim(hop, "[]"))
	return addr.Unmap().WithZone(""), err
}

// trusts reports whether what an address says of its clients is believed.
func (s *Server) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(s.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// RemoteIP is Client as text.
func (c *Call) RemoteIP() string { return c.Client.String() }

// Country is the client's country as the edge in front has it (Config.CountryHeader): ISO 3166-1 alpha-2, "" where it is not
// known, or where the peer is no trusted proxy.
func (c *Call) Country() string { return c.country }

// countryOf returns what a trusted edge says about the client's country.
func (s *Server) countryOf(http *fasthttp.RequestCtx) string {
	if s.cfg.CountryHeader == "" || !s.trusts(quota.Address(http.RemoteAddr())) {
		return ""
	}
	code := strings.ToUpper(string(http.Request.Header.Peek(s.cfg.CountryHeader)))
	if len(code) != 2 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || slices.Contains(unknownCountries, code) {
		return ""
	}
	return code
}

// unknownCountries are what edges send for "unknown" and for no country: user-assigned codes of ISO 3166-1.
var unknownCountries = []string{"XX", "ZZ"}
