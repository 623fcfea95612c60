// Package vercel is the adapter of package hosting for Vercel's API.
package vercel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/recital-tts/recital/internal/providers/hosting"
)

const (
	pageSize = 100
	maxPages = 10 // of listed projects
)

// Exchange implements hosting.Platform.
func (p *Platform) Exchange(ctx context.Context, code string) (hosting.Access, error) {
	form := url.Values{
		"client_id": {p.conf.ClientID}, "client_secret": {p.conf.ClientSecret},
		"code": {code}, "redirect_uri": {p.conf.RedirectURL},
	}
	var granted struct {
		Token        string `json:"access_token"`
		Installation string `json:"installation_id"`
		Team         string `json:"team_id"`
	}
	err := p.ask(ctx, question{
		method: http.MethodPost, path: "/v2/oauth/access_token", kind: "application/x-www-form-urlencoded",
		body: form.Encode(), refused: p.refusedCode,
	}, &granted)
	if err == nil && granted.Token == "" {
		err = unreadable()
	}
	return hosting.Access{Token: granted.Token, Installation: granted.Installation, Team: granted.Team}, err
}

// refusedCode distinguishes a refused code from refused credentials of the service.
func (p *Platform) refusedCode(status int, code string) error {
	if status == http.StatusBadRequest && code != "invalid_client" {
		return hosting.ErrCode
	}
	return hosting.ErrUnavailable
}

// Projects implements hosting.Platform.
func (p *Platform) Projects(ctx context.Context, a hosting.Access) (all []hosting.Project, complete bool, err error) {
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	for range maxPages {
		var page struct {
			Projects   []hosting.Project `json:"projects"`
			Pagination struct {
				Next json.RawMessage `json:"next"` // a number, a string or null
			} `json:"pagination"`
		}
		if err := p.ask(ctx, question{
			access: a, method: http.MethodGet, path: "/v10/projects", query: query,
		}, &page); err != nil {
			return nil, false, err
		}
		all = append(all, page.Projects...)
		next := strings.Trim(string(page.Pagination.Next), `"`)
		if next == "" || next == "null" || len(page.Projects) == 0 {
			return all, true, nil
		}
		query.Set("from", next)
	}
	return all, false, nil
}

// Project implements hosting.Platform.
func (p *Platform) Project(ctx context.Context, a hosting.Access, idOrName string) (hosting.Project, error) {
	var found hosting.Project
	path, err := join("/v9/projects", idOrName)
	if err != nil {
		return hosting.Project{}, err
	}
	if err := p.ask(ctx, question{access: a, method: http.MethodGet, path: path}, &found); err != nil {
		return hosting.Project{}, err
	}
	if found.ID == "" || found.Name == "" {
		return hosting.Project{}, unreadable()
	}
	return found, nil
}

// Variable implements hosting.Platform.
func (p *Platform) Variable(ctx context.Context, a hosting.Access, project, name string) (hosting.Variable, error) {
	path, err := join("/v10/projects", project, "env")
	if err != nil {
		return hosting.Variable{}, err
	}
	var list struct {
		Envs []struct {
			ID      string `json:"id"`
			Key     string `json:"key"`
			Comment string `json:"comment"`
		} `json:"envs"`
	}
	if err := p.ask(ctx, question{access: a, method: http.MethodGet, path: path}, &list); err != nil {
		return hosting.Variable{}, err
	}
	for _, one := range list.Envs {
		if one.Key == name {
			return hosting.Variable{ID: one.ID, Comment: one.Comment}, nil
		}
	}
	return hosting.Variable{}, &refusal{kind: hosting.ErrNotFound}
}

type newVariable struct {
	Key     string   `json:"key"`
	Value   string   `json:"value"`
	Type    string   `json:"type"`
	Target  []string `json:"target"`
	Comment string   `json:"comment"`
}

// SetVariable implements hosting.Platform.
func (p *Platform) SetVariable(
	ctx context.Context, a hosting.Access, project string, v hosting.NewVariable,
) (string, error) {
	path, err := join("/v10/projects", project, "env")
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(newVariable{
		Key: v.Name, Value: v.Value, Type: "encrypted", Target: []string{"production", "preview", "development"},
		Comment: v.Comment,
	})
	if err != nil {
		return "", fmt.Errorf("encoding an environment variable: %w", err)
	}
	var made struct {
		Created struct {
			ID string `json:"id"`
		} `json:"created"`
		Failed []struct {
			Error problem `json:"error"`
		} `json:"failed"`
	}
	q := question{
		access: a, method: http.MethodPost, path: path, query: url.Values{"upsert": {"true"}},
		kind: "application/json", body: string(body),
	}
	if err := p.ask(ctx, q, &made); err != nil {
		return "", err
	}
	if len(made.Failed) > 0 {
		return "", &refusal{kind: hosting.ErrRejected, code: safe(made.Failed[0].Error.Code)}
	}
	if made.Created.ID == "" {
		return "", unreadable()
	}
	return made.Created.ID, nil
}

// RemoveVariable implements hosting.Platform.
func (p *Platform) RemoveVariable(ctx context.Context, a hosting.Access, project, id string) error {
	path, err := join("/v9/projects", project, "env", id)
	if err != nil {
		return err
	}
	return p.ask(ctx, question{access: a, method: http.MethodDelete, path: path}, nil)
}

// join escapes the parts of a path. It refuses a part that would lead to another path.
func join(base string, parts ...string) (string, error) {
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return "", &refusal{kind: hosting.ErrNotFound}
		}
		base += "/" + url.PathEscape(part)
	}
	return base, nil
}
