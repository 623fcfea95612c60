// Package hostingplatform is a hosting platform for development. It implements the part of Vercel's API that Recital
// uses, validates requests as strictly, and has a page on which a developer installs the integration and sees the
// variables. It keeps everything in memory.
package hostingplatform

import (
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recital-tts/recital/internal/standins"
)

// Config configures a Platform.
type Config struct {
	Address      string // on loopback, by default on a free port; where the port is taken, a free one is used
	ClientID     string
	ClientSecret string
}

// Platform is the platform. It is safe for concurrent use.
type Platform struct {
	conf   Config
	ln     net.Listener
	server *http.Server

	mu            sync.Mutex
	installations []*Installation
	numbers       int
}

// Installation is an installation of the integration, with the projects that it may change.
type Installation struct {
	ID       string
	Team     string // "" for a person's own
	Projects []*Project
	code     string // "" once it was exchanged
	token    string // "" before
}

// Project is a project.
type Project struct {
	ID, Name  string
	Variables []Variable
}

// Variable is an environment variable.
type Variable struct {
	ID      string   `json:"id"`
	Key     string   `json:"key"`
	Value   string   `json:"value"`
	Type    string   `json:"type"`
	Target  []string `json:"target"`
	Comment string   `json:"comment"`
}

// Open starts a platform. Close must follow.
func Open(conf Config) (*Platform, error) {
	ln, err := standins.Listen(conf.Address)
	if err != nil {
		return nil, fmt.Errorf("listening for the hosting platform: %w", err)
	}
	p := &Platform{conf: conf, ln: ln}
	p.server = &http.Server{
		Handler: p.handler(), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	go func() { _ = p.server.Serve(ln) }()
	return p, nil
}

// Close stops the platform.
func (p *Platform) Close() error { return p.server.Close() }

// URL returns its address.
func (p *Platform) URL() string { return "http://" + p.ln.Addr().String() }

// Install installs the integration for projects. It returns the id of the configuration, and the code for its token.
func (p *Platform) Install(team string, projects ...string) (config, code string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := &Installation{ID: p.id("icfg"), Team: team, code: rand.Text()}
	for _, name := range projects {
		made.Projects = append(made.Projects, &Project{ID: p.id("prj"), Name: name})
	}
	p.installations = append(p.installations, made)
	return made.ID, made.code
}

// Reinstall returns another code for an installation. The token of the one before stays valid until it is exchanged.
func (p *Platform) Reinstall(config string) (code string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.installations {
		if i.ID == config {
			i.code = rand.Text()
			return i.code
		}
	}
	return ""
}

// Uninstall ends the access of an installation. Its projects stay.
func (p *Platform) Uninstall(config string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range p.installations {
		if i.ID == config {
			i.code, i.token = "", ""
		}
	}
}

// Variables returns the variables that are set in the projects of an installation, by the name of their project.
func (p *Platform) Variables(config string) map[string][]Variable {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string][]Variable{}
	for _, i := range p.installations {
		for _, project := range i.Projects {
			if i.ID == config && len(project.Variables) > 0 {
				all[project.Name] = append(all[project.Name], slices.Clone(project.Variables)...)
			}
		}
	}
	return all
}

func (p *Platform) id(kind string) string {
	p.numbers++
	return kind + "_" + strconv.Itoa(p.numbers)
}

func (p *Platform) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v2/oauth/access_token", p.exchange)
	mux.HandleFunc("GET /v10/projects", p.authorized(p.listProjects))
	mux.HandleFunc("GET /v9/projects/{project}", p.inProject(p.project))
	mux.HandleFunc("GET /v10/projects/{project}/env", p.inProject(p.listVariables))
	mux.HandleFunc("POST /v10/projects/{project}/env", p.inProject(p.setVariable))
	mux.HandleFunc("DELETE /v9/projects/{project}/env/{id}", p.inProject(p.removeVariable))
	pages := http.NewServeMux()
	pages.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
	p.pages(pages)
	return pages
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // an error means that the client has gone
}

// Refuse answers with an error of the API.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
		"code": code, "message": "The request was refused.",
	}})
}

func (p *Platform) exchange(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("client_id") != p.conf.ClientID || r.PostFormValue("client_secret") != p.conf.ClientSecret {
		Refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}
	code := r.PostFormValue("code")
	i := slices.IndexFunc(p.installations, func(i *Installation) bool { return code != "" && i.code == code })
	if i < 0 {
		Refuse(w, http.StatusBadRequest, "invalid_grant")
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

// authorized serves a request with the token of an installation and the id of its team.
func (p *Platform) authorized(serve func(http.ResponseWriter, *http.Request, *Installation)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		i := slices.IndexFunc(p.installations, func(i *Installation) bool { return token != "" && i.token == token })
		if i < 0 || p.installations[i].Team != r.URL.Query().Get("teamId") {
			Refuse(w, http.StatusForbidden, "forbidden")
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
			Refuse(w, http.StatusNotFound, "not_found")
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
		Refuse(w, http.StatusBadRequest, "bad_request")
		return
	}
	at := slices.IndexFunc(project.Variables, func(old Variable) bool { return old.Key == v.Key })
	switch {
	case at < 0:
		v.ID = p.id("env")
		project.Variables = append(project.Variables, v)
	case r.URL.Query().Get("upsert") != "true":
		Refuse(w, http.StatusBadRequest, "ENV_CONFLICT")
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
		Refuse(w, http.StatusNotFound, "not_found")
		return
	}
	answer(w, map[string]any{})
}

// pages are for developers, who act as the owner of the projects.
func (p *Platform) pages(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.home)
	mux.HandleFunc("POST /install", sameOrigin(p.install))
	mux.HandleFunc("POST /uninstall", sameOrigin(func(w http.ResponseWriter, r *http.Request) {
		p.Uninstall(r.PostFormValue("config"))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}))
}

// sameOrigin refuses forms from other origins.
func sameOrigin(serve http.HandlerFunc) http.HandlerFunc {
	return http.NewCrossOriginProtection().Handler(serve).ServeHTTP
}

// install responds with the configuration and its code, or redirects to the address in the form, as the platform does.
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

//go:embed home.html
var homePage string

var page = template.Must(template.New("home").Parse(homePage))

func (p *Platform) home(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action *; frame-ancestors 'none'")
	_ = page.Execute(w, p.installations) // the browser may have gone
}
