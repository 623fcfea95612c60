package web

import (
	"slices"
	"strings"
)

// sameOrigin reports whether a page of the service, or of an allowed origin, makes a request: a browser says so in
// headers that no page can set (Fetch Metadata, and the Origin of RFC 6454). What says nothing is not taken for one.
func (s *Server) sameOrigin(call *Call) bool {
	origin := call.Header("Origin")
	return call.Header("Sec-Fetch-Site") == "same-origin" || s.allows(origin) || strings.EqualFold(origin, s.ownOrigin(call))
}

// ownOrigin is the origin of the service's own pages.
func (s *Server) ownOrigin(call *Call) string {
	if s.cfg.Origin != "" {
		return s.cfg.Origin
	}
	return "http://" + string(call.http.Host())
}

// allows reports whether pages of an origin may use the session of a browser.
func (s *Server) allows(origin string) bool {
	return origin != "" && slices.Contains(s.cfg.Origins, origin)
}
