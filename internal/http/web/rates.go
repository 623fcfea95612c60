package web

import (
	"context"
	"net/netip"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web/quota"
)

// Rates limits how often requests may append to the log.
type Rates interface {
	// Account counts a request of an account, and reports whether its rate permits it.
	Account(id, plan string) bool
	// Address counts a request of an address, and reports whether its rate permits it.
	Address(netip.Addr) bool
	// Failure counts a wrong credential from an address, and reports whether its rate permits it.
	Failure(netip.Addr) bool
}

// ratePause is when a client over its rate may ask again: all rates are at least one a second.
const ratePause = time.Second

// limitRate counts a request that may append, of a caller who is known. What such a request appends stays for ever, even
// if its client leaves at once; a client that has left already appends nothing.
func (s *Server) limitRate(v *visit) error {
	if !v.Route.Appends {
		return nil
	}
	conn := connOf(v.http)
	conn.CheckGone()
	if v.life.Err() != nil {
		return context.Cause(v.life)
	}
	if s.cfg.Rates == nil {
		return nil
	}
	if !s.cfg.Rates.Address(quota.Client(v.Client)) {
		return TooManyRequests("Too many requests from this address", ratePause)
	}
	if v.Principal.Account != "" && !s.cfg.Rates.Account(v.Principal.Account, v.Principal.Plan) {
		return TooManyRequests("Too many requests of this account", ratePause)
	}
	return nil
}

// wrong refuses a wrong credential. An address that shows many is asked to wait, and has to connect again for each one. A
// right one is admitted all the same: nobody is locked out by who shares an address with somebody else.
func (s *Server) wrong(call *Call, message string) error {
	if s.cfg.Rates == nil || s.cfg.Rates.Failure(quota.Client(call.Client)) {
		return domain.Refuse(domain.Unauthenticated, message)
	}
	call.http.SetConnectionClose()
	return TooManyRequests("Too many wrong credentials from this address", ratePause)
}
