package hostingplatform

import (
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// pages are for whoever develops: they do what the owner of projects does on the platform.
func (p *Platform) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.home)
	mux.HandleFunc("POST /install", sameOrigin(p.install))
	mux.HandleFunc("POST /uninstall", sameOrigin(func(w http.ResponseWriter, r *http.Request) {
		p.Uninstall(r.PostFormValue("config"))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}))
}

// sameOrigin refuses forms of other pages.
func sameOrigin(serve http.HandlerFunc) http.HandlerFunc {
	return http.NewCrossOriginProtection().Handler(serve).ServeHTTP
}

// install answers with the configuration and its code, or leads back to where the form says, as the platform does.
func (p *Platform) install(w http.ResponseWriter, r *http.Request) {
	team := r.PostFormValue("team")
	projects := strings.FieldsFunc(r.PostFormValue("projects"), func(c rune) bool { return c == ',' || c == ' ' })
	config, code := p.Install(team, projects...)
	back, err := url.Parse(r.PostFormValue("redirect"))
	if err != nil || back.Host == "" {
		answer(w, map[string]string{"configurationId": config, "code": code, "teamId": team})
		return
	}
	query := back.Query()
	query.Set("configurationId", config)
	query.Set("code", code)
	if team != "" {
		query.Set("teamId", team)
	}
	back.RawQuery = query.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

var page = template.Must(template.New("home").Parse(`<!doctype html><html lang="en"><title>Hosting platform for development</title>
<style>body{font:16px sans-serif;max-width:46rem;margin:2rem auto}form{margin:.5rem 0}</style>
<h1>Hosting platform for development</h1>
<h2>Install the integration</h2>
<form method="post" action="/install">
<label>Projects <input name="projects" value="my-site, my-shop"></label>
<label>Team <input name="team" placeholder="none"></label>
<label>Lead back to <input name="redirect" placeholder="nowhere: shows the code"></label>
<button>Install</button></form>
<h2>Installations</h2>
{{range .}}<h3>{{.ID}}{{with .Team}} of {{.}}{{end}}</h3>
<form method="post" action="/uninstall"><input type="hidden" name="config" value="{{.ID}}"><button>Uninstall</button></form>
<ul>{{range .Projects}}<li>{{.Name}}{{range .Variables}}: {{.Key}} ({{.Comment}}){{end}}</li>{{end}}</ul>
{{else}}<p>None.</p>{{end}}
</html>`))

func (p *Platform) home(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action *; frame-ancestors 'none'")
	_ = page.Execute(w, p.installations) // a browser that has gone sees nothing
}
