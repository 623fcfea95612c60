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

// proves reports whether the cookie of a request may change something: a page of the service or of an allowed origin makes
// it, or, where the route permits, the browser's window goes there.
func (s *Server) proves(call *Call, e *endpoint) bool {
	if e.Navigable && call.Header("Sec-Fetch-Mode") == "navigate" {
		return !call.Loaded()
	}
	return s.sameOrigin(call)
}

// Loaded reports whether a page, or the browser ahead of its user, loads what is asked for, instead of the window's going
// there. It is false where the browser does not say (Fetch Metadata).
func (c *Call) Loaded() bool {
	mode, dest := c.Header("Sec-Fetch-Mode"), c.Header("Sec-Fetch-Dest")
	return mode != "" && mode != "navigate" || dest != "" && dest != "document" || c.Header("Sec-Purpose") != ""
}

// LoadedElsewhere reports whether a page of another origin loads what is asked for, for which browsers show no cookie
// unless they are told to, and many not even then.
func (c *Call) LoadedElsewhere() bool {
	return c.elsewhere && (c.Loaded() || c.Header("Sec-Fetch-Mode") == "")
}

// isElsewhere reports whether a page of another origin makes a request, as far as its browser says.
func (s *Server) isElsewhere(call *Call) bool {
	if site := call.Header("Sec-Fetch-Site"); site != "" {
		return site == "cross-site" || site == "same-site"
	}
	origin := call.Header("Origin")
	return origin != "" && !strings.EqualFold(origin, s.ownOrigin(call))
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
