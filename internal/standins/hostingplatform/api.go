package hostingplatform

import (
	"crypto/rand"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func (p *Platform) exchange(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("client_id") != p.conf.ClientID || r.PostFormValue("client_secret") != p.conf.ClientSecret {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	code := r.PostFormValue("code")
	i := slices.IndexFunc(p.installations, func(i *Installation) bool { return code != "" && i.code == code })
	if i < 0 {
		refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	found := p.installations[i]
	found.code, found.token = "", rand.Text()
	granted := map[string]any{
		"token_type": "Bearer", "access_token": found.token, "installation_id": found.ID, "user_id": "user_1", "team_id": nil,
	}
	if found.Team != "" {
		granted["team_id"] = found.Team
	}
	answer(w, granted)
}

// authorized serves a request that has the token of an installation, and names its team.
func (p *Platform) authorized(serve func(http.ResponseWriter, *http.Request, *Installation)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		i := slices.IndexFunc(p.installations, func(i *Installation) bool { return token != "" && i.token == token })
		if i < 0 || p.installations[i].Team != r.URL.Query().Get("teamId") {
			refuse(w, http.StatusForbidden, "forbidden")
			return
		}
		serve(w, r, p.installations[i])
	}
}

// inProject serves a request about a project, which is named by its id or name.
func (p *Platform) inProject(serve func(http.ResponseWriter, *http.Request, *Project)) http.HandlerFunc {
	return p.authorized(func(w http.ResponseWriter, r *http.Request, i *Installation) {
		name := r.PathValue("project")
		at := slices.IndexFunc(i.Projects, func(p *Project) bool { return p.ID == name || p.Name == name })
		if at < 0 {
			refuse(w, http.StatusNotFound, "not_found")
			return
		}
		serve(w, r, i.Projects[at])
	})
}

func shown(p *Project) map[string]any { return map[string]any{"id": p.ID, "name": p.Name} }

func (p *Platform) listProjects(w http.ResponseWriter, r *http.Request, i *Installation) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		limit = 20
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	from = min(max(from, 0), len(i.Projects))
	to := min(from+limit, len(i.Projects))
	page := []any{}
	for _, project := range i.Projects[from:to] {
		page = append(page, shown(project))
	}
	pagination := map[string]any{"count": len(page), "next": nil, "prev": nil}
	if to < len(i.Projects) {
		pagination["next"] = to
	}
	answer(w, map[string]any{"projects": page, "pagination": pagination})
}

func (p *Platform) project(w http.ResponseWriter, _ *http.Request, project *Project) {
	answer(w, shown(project))
}

func (p *Platform) listVariables(w http.ResponseWriter, _ *http.Request, project *Project) {
	hidden := slices.Clone(project.Variables)
	for i := range hidden {
		hidden[i].Value = "eyJhIjoi"
	}
	answer(w, map[string]any{"envs": hidden})
}

func (p *Platform) setVariable(w http.ResponseWriter, r *http.Request, project *Project) {
	var v Variable
	if json.NewDecoder(r.Body).Decode(&v) != nil || v.Key == "" || v.Type == "" || len(v.Target) == 0 {
		refuse(w, http.StatusBadRequest, "bad_request")
		return
	}
	at := slices.IndexFunc(project.Variables, func(old Variable) bool { return old.Key == v.Key })
	switch {
	case at < 0:
		v.ID = p.id("env")
		project.Variables = append(project.Variables, v)
	case r.URL.Query().Get("upsert") != "true":
		refuse(w, http.StatusBadRequest, "ENV_CONFLICT")
		return
	default:
		v.ID = project.Variables[at].ID
		project.Variables[at] = v
	}
	w.WriteHeader(http.StatusCreated)
	answer(w, map[string]any{"created": v, "failed": []any{}})
}

func (p *Platform) removeVariable(w http.ResponseWriter, r *http.Request, project *Project) {
	id, before := r.PathValue("id"), len(project.Variables)
	project.Variables = slices.DeleteFunc(project.Variables, func(v Variable) bool { return v.ID == id })
	if len(project.Variables) == before {
		refuse(w, http.StatusNotFound, "not_found")
		return
	}
	answer(w, map[string]any{})
}

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

var page = template.Must(template.New("home").Parse(`<!doctype html>
<html lang="en"><title>Hosting platform for development</title>
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
<form method="post" action="/uninstall">
<input type="hidden" name="config" value="{{.ID}}"><button>Uninstall</button></form>
<ul>{{range .Projects}}<li>{{.Name}}{{range .Variables}}: {{.Key}} ({{.Comment}}){{end}}</li>{{end}}</ul>
{{else}}<p>None.</p>{{end}}
</html>`))

func (p *Platform) home(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action *; frame-ancestors 'none'")
	_ = page.Execute(w, p.installations) // a browser that has gone sees nothing
}
