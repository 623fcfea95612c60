package main_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// sessionChecker checks sessions: a cookie is valid until its session is ended or its account closed, and never after
// that. A closed account is never reopened.
type sessionChecker struct {
	stormClient
	public   string // the public URL of the instances, "" if each has its address
	name     string // a part of its guests' addresses, different from other checkers'
	here     []guest
	gone     []goneGuest
	doubtful int // guests with an unconfirmed end
	closed   map[string]bool
}

type guest struct{ account, cookie string }

type goneGuest struct {
	guest
	since time.Time
}

func newSessionChecker(public string, v stormClient) *sessionChecker {
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Transport: v.client.Transport, Timeout: v.client.Timeout, CheckRedirect: stop}
	return &sessionChecker{
		stormClient: stormClient{client}, public: public, name: uuid.NewString(), closed: map[string]bool{},
	}
}

func (p *sessionChecker) work(at *server, r *rand.Rand) error {
	switch r.IntN(6) {
	case 0:
		if err := p.welcome(at, r); err != nil {
			return err
		}
	case 1:
		p.sendOff(at, r)
	}
	if len(p.here) > 0 {
		g := p.here[r.IntN(len(p.here))]
		if answer, err := p.asGuest(at, g, http.MethodGet, "/v1/account"); err == nil &&
			answer.status == http.StatusUnauthorized {
			return fmt.Errorf("a session of %s that was not ended is refused: %s", g.account, answer.text())
		}
	}
	if len(p.gone) == 0 {
		return nil
	}
	g := p.gone[r.IntN(len(p.gone))]
	if time.Since(g.since) < revocationTakes {
		return nil
	}
	if answer, err := p.asGuest(at, g.guest, http.MethodGet, "/v1/account"); err == nil && answer.status == http.StatusOK {
		return fmt.Errorf("the ended session of %s is accepted", g.account)
	}
	return nil
}

// asGuest makes a request like a page of the service.
func (p *sessionChecker) asGuest(at *server, g guest, method, path string) (reply, error) {
	request, err := http.NewRequest(method, at.address+path, nil)
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Cookie", "svc-session="+g.cookie)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return p.ask(request)
}

// welcome signs in one of a few people. The next sign-in completes an interrupted one.
func (p *sessionChecker) welcome(at *server, r *rand.Rand) error {
	cookie := p.signIn(at, fmt.Sprintf("%d-%s@example.com", r.IntN(5), p.name))
	if cookie == "" {
		return nil
	}
	answer, err := p.asGuest(at, guest{cookie: cookie}, http.MethodGet, "/auth/oauth/validate")
	var who struct{ ID string }
	if err != nil || answer.status != http.StatusOK || json.Unmarshal(answer.body, &who) != nil {
		return nil
	}
	if p.closed[who.ID] {
		return fmt.Errorf("a sign-in leads to the closed account %s", who.ID)
	}
	p.here = append(p.here, guest{who.ID, cookie})
	return nil
}

// signIn returns the cookie of a new session, "" if a step has failed.
func (p *sessionChecker) signIn(at *server, email string) string {
	public := cmp.Or(p.public, at.address)
	begun, browser := p.step(at.address+"/auth/oauth/login?provider=idp_1&redirect="+url.QueryEscape(public+"/docs"), "",
		nil)
	answered, _ := p.step(begun, "", url.Values{"name": {"Guest"}, "email": {email}})
	_, session := p.step(strings.Replace(answered, public, at.address, 1), browser, nil)
	return strings.TrimPrefix(session, "svc-session=")
}

// step requests an address with a cookie, and returns the redirect's location and the cookie that it sets.
func (p *sessionChecker) step(address, cookie string, form url.Values) (location, set string) {
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil || address == "" {
		return "", ""
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Cookie", cookie)
	answer, err := p.ask(request)
	if err != nil {
		return "", ""
	}
	if cookies := answer.header.Values("Set-Cookie"); len(cookies) > 0 {
		set, _, _ = strings.Cut(cookies[len(cookies)-1], ";") // earlier ones clear the sign-in's cookies
	}
	return answer.header.Get("Location"), set
}

// sendOff ends a guest's session, all sessions of the account, or the account.
func (p *sessionChecker) sendOff(at *server, r *rand.Rand) {
	if len(p.here) < 3 {
		return
	}
	g := p.here[r.IntN(len(p.here))]
	id, _, _ := strings.Cut(g.cookie, ".")
	method, path, all := http.MethodDelete, "/v1/account/sessions/"+id, false
	switch r.IntN(6) {
	case 0:
		method, path, all = http.MethodPost, "/v1/account/sessions/revoke_all", true
	case 1:
		path, all = "/v1/account", true
	}
	answer, err := p.asGuest(at, g, method, path)
	confirmed := err == nil && answer.status == http.StatusOK
	if confirmed && path == "/v1/account" {
		p.closed[g.account] = true
	}
	var stay []guest
	for _, one := range p.here {
		switch leaves := one == g || all && one.account == g.account; {
		case !leaves:
			stay = append(stay, one)
		case confirmed:
			p.gone = append(p.gone, goneGuest{one, time.Now()})
		default:
			p.doubtful++
		}
	}
	p.here = stay
}

func (p *sessionChecker) settle([]*server, books) error {
	if len(p.here)+len(p.gone)+p.doubtful == 0 {
		return errors.New("no sign-in has succeeded")
	}
	return nil
}

func (p *sessionChecker) check(at *server, b books) error {
	for _, g := range p.here {
		if answer, err := p.asGuest(at, g, http.MethodGet, "/v1/account"); err != nil || answer.status != http.StatusOK {
			return fmt.Errorf("the session of %s is refused: %d %v", g.account, answer.status, err)
		}
	}
	for _, g := range p.gone {
		if answer, err := p.asGuest(at, g.guest, http.MethodGet, "/v1/account"); err != nil ||
			answer.status != http.StatusUnauthorized {
			return fmt.Errorf("the ended session of %s gets %d %v", g.account, answer.status, err)
		}
	}
	for id := range p.closed {
		if !b.accounts[id].Closed() {
			return fmt.Errorf("the closed account %s is open in the log", id)
		}
	}
	return nil
}

func (p *sessionChecker) String() string {
	return fmt.Sprintf("sessions: %d guests here, %d gone, %d doubtful, %d accounts closed", len(p.here), len(p.gone),
		p.doubtful, len(p.closed))
}
