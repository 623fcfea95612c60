package devidp

import (
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/recital-tts/recital/internal/providers/signin"
)

var page = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in for development ({{.Name}})</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 3rem auto; padding: 0 1rem }
label { display: block; margin: 1rem 0 }
input, select { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .4rem }
button { font: inherit; padding: .4rem 1rem }
</style>
</head>
<body>
<main>
<h1>{{.Name}}</h1>
<p>This identity provider is for development: whoever you say you are, you are.</p>
<form method="post">
<label>Name <input name="name" value="Ada Lovelace" autocomplete="off" autofocus></label>
<label>E-mail address <input name="email" value="ada@example.com" autocomplete="off"></label>
<label>Address of a picture <input name="picture" placeholder="none" autocomplete="off"></label>
<label>What goes wrong <select name="fault">
{{range .Faults}}<option value="{{.Fault}}">{{.Says}}</option>{{end}}</select></label>
<button id="sign-in">Sign in</button>
<button id="cancel" name="fault" value="access_denied">Cancel</button>
</form>
</main>
</body>
</html>
`))

const codeLifetime = time.Minute

// request is a request of the authorization endpoint, as a client has made it.
type request struct {
	name     string // of the issuer
	redirect *url.URL
	query    url.Values
}

// readRequest refuses what may not be answered with a redirect, and what a careful provider refuses.
func (s *Server) readRequest(r *http.Request) (request, string) {
	query := r.URL.Query()
	in := request{name: r.PathValue("name"), query: query}
	redirect, err := url.Parse(query.Get("redirect_uri"))
	switch {
	case !s.names[in.name]:
		return in, "There is no such issuer"
	case query.Get("client_id") != ClientID:
		return in, "There is no such client"
	case err != nil || !s.isCallback(redirect, in.name):
		return in, "The redirect_uri is not the client's"
	case query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" ||
		query.Get("code_challenge") == "":
		return in, "Only the authorization code flow with PKCE (S256) is served"
	}
	in.redirect = redirect
	return in, ""
}

// isCallback reports whether a URL can be the client's: on this machine, or at its public address.
func (s *Server) isCallback(u *url.URL, name string) bool {
	here := u.Scheme == "http" && signin.IsLoopback(u.Host) || s.home != "" && u.Host == s.home
	return here && u.Path == "/auth/oauth/"+name
}

func (s *Server) showPage(w http.ResponseWriter, r *http.Request) {
	in, wrong := s.readRequest(r)
	if wrong != "" {
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_ = page.Execute(w, map[string]any{"Name": in.name, "Faults": faults}) // an error means that the browser has gone
}

// answerPage sends the browser back to the client.
func (s *Server) answerPage(w http.ResponseWriter, r *http.Request) {
	in, wrong := s.readRequest(r)
	if wrong != "" {
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The form cannot be read", http.StatusBadRequest)
		return
	}
	back := *in.redirect
	answer := back.Query()
	for name, values := range s.answer(in, person{
		r.PostForm.Get("name"), r.PostForm.Get("email"), r.PostForm.Get("picture"),
	}, fault(lastOf(r.PostForm["fault"]))) {
		answer[name] = values
	}
	back.RawQuery = answer.Encode()
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// lastOf returns the last value: that of the button Cancel comes after that of the switch.
func lastOf(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// answer returns what the client gets.
func (s *Server) answer(in request, who person, f fault) url.Values {
	answer := url.Values{"state": {in.query.Get("state")}, "iss": {s.Issuer(in.name)}}
	switch f {
	case accessDenied, providerError:
		answer.Set("error", string(f))
		answer.Set("error_description", "This was chosen on the login page")
		return answer
	case wrongState:
		answer.Set("state", draw())
	case otherIssuer:
		answer.Set("iss", s.base+"/other")
	}
	answer.Set("code", s.keep(grant{
		name: in.name, person: who, fault: f, redirect: in.query.Get("redirect_uri"),
		nonce: in.query.Get("nonce"), challenge: in.query.Get("code_challenge"),
	}, codeLifetime))
	return answer
}
