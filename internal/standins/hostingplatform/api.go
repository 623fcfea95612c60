package hostingplatform

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
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
	granted := map[string]any{"token_type": "Bearer", "access_token": found.token, "installation_id": found.ID, "user_id": "user_1", "team_id": nil}
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
