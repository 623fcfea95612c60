package operations

import (
	"net/http"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/http/web"
)

// Sessions begins and ends the sessions of operators and auditors in browsers.
type Sessions struct {
	// Begin returns the cookie of a session for a token's holder, and false for an unknown holder.
	Begin func(holder string, now time.Time) (cookie string, expires time.Time, known bool)
}

// AdminRoutes returns the rows for the admin route table.
func (s *Sessions) AdminRoutes() []web.Route {
	tag, roles := web.Tag("Operators"), web.Role("operator", "auditor")
	const path = "/admin/session"
	return []web.Route{
		web.Get(path, s.show, roles, tag, web.Summary("The caller's name and role"), web.Returns[sessionReply]()),
		web.Post(path, s.begin, roles, tag, web.AppendsNothing(), web.Summary("Sign a browser in"),
			web.Description("The reply sets the cookie of a session that lasts an hour and is accepted by each instance. "+
				"It has the role and the name of the token. This needs the token itself."),
			web.Returns[sessionReply]()),
		web.Delete(path, s.end, roles, tag, web.AppendsNothing(), web.Summary("Sign this browser out"),
			web.Description("The browser forgets its cookie. A session ends everywhere with its token."),
			web.ReturnsNothing(http.StatusNoContent)),
	}
}

type sessionReply struct {
	Operator  string     `json:"operator" doc:"The name of the token's holder, or the role if its file has one token."`
	Role      string     `json:"role" literal:"operator,auditor" doc:"The role of the token."`
	ExpiresAt *time.Time `json:"expires_at" doc:"When the session ends; null for the token itself."`
}

func (s *Sessions) show(call *web.Call, _ struct{}) (web.Reply, error) {
	reply := sessionReply{Operator: call.Operator, Role: call.Role}
	if ends := call.OperatorSessionEnds.UTC(); !ends.IsZero() {
		reply.ExpiresAt = &ends
	}
	return web.JSON(reply).WithHeader("Cache-Control", "no-store"), nil
}

// begin does not extend a session: a browser that was left open is signed out after an hour.
func (s *Sessions) begin(call *web.Call, in struct{}) (web.Reply, error) {
	cookie, expires, known := s.Begin(call.Operator, time.Now())
	if !known || !call.OperatorSessionEnds.IsZero() {
		return web.Reply{}, domain.Refuse(domain.Denied, "A session begins with a token, as authorization: Bearer <token>")
	}
	call.SetOperatorCookie(cookie, expires)
	call.OperatorSessionEnds = expires
	return s.show(call, in)
}

func (s *Sessions) end(call *web.Call, _ struct{}) (web.Reply, error) {
	call.ClearOperatorCookie()
	return web.Reply{}.WithStatus(http.StatusNoContent), nil
}
