// Package hosting serves the routes by which accounts put API keys into their projects at the hosting platform.
package hosting

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	platform "github.com/recital-tts/recital/internal/providers/hosting"
	"github.com/recital-tts/recital/writeapi"
)

const (
	maxProjects = 100
	maxName     = 100
	// maxBody leaves room for lists that are somewhat too long, so that they get a 422.
	maxBody = 64 << 10
	// timeout is for the longest lists, which take two or three requests to the platform for each project.
	timeout = 2 * time.Minute
)

// API serves the hosting platform.
type API struct {
	Hosting    *hosting.Hosting
	ReadModels writeapi.ReadModels
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	tag := web.Tag("Hosting")
	return []web.Route{
		web.Post("/v1/account/hosting/projects", a.projects, web.FormBody(), web.MaxBody(maxBody), web.Timeout(time.Minute),
			tag,
			web.Summary("Connect an account of the hosting platform, and list its projects"),
			web.Description("The platform issues the `code` when the integration is installed, and accepts it "+
				"once; later calls do not need it."),
			web.Returns[hostingProjectResponse](web.Sends("x-recital-position")), web.Refuses(400, 403, 404, 409, 429)),
		web.Post("/v1/account/hosting/env_vars", a.setVariables, web.FormBody(), web.MaxBody(maxBody), web.Timeout(timeout),
			web.ReadModels(readmodel.Account), tag,
			web.Summary("Set and remove API keys in projects at the hosting platform"),
			web.Description("Each project gets a key of its own, named after it, in "+
				"the environment variable `"+hosting.VariableName+"`. "+
				"Projects are given by name or id: separated by commas, as a repeated field, or as a JSON array, at most 100 of "+
				"each. Keys that are set, or removed, already are left unchanged. "+
				"`success` is false if some projects failed; a repetition continues with them."),
			web.Returns[hostingVariablesResponse](), web.Refuses(404, 409, 429)),
	}
}

type projectsRequest struct {
	Config string `body:"config_id" doc:"The platform's id of the configuration." required:"true" minlen:"1" maxlen:"200" example:"icfg_1a2b3c"`
	Code   string `body:"code" doc:"The code that the platform issued for it." maxlen:"1000"`
}

type hostingProjectResponse struct {
	Projects []hostingProject `json:"projects" doc:"The projects of the account at the hosting platform."`
	Complete bool             `json:"complete" doc:"there are no other projects"`
}

type hostingProject struct {
	Name string `json:"name" doc:"The name of the project."`
	ID   string `json:"id" doc:"The id of the project at the platform."`
	Set  bool   `json:"has_api_key" doc:"the account has put an API key into it"`
}

func (a *API) projects(call *web.Call, in projectsRequest) (web.Reply, error) {
	found, err := a.Hosting.Projects(call, call.Principal.Account, in.Config, in.Code, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, refusal(err)
	}
	response := hostingProjectResponse{Projects: []hostingProject{}, Complete: found.All}
	for _, p := range found.Listed {
		response.Projects = append(response.Projects, hostingProject{Name: p.Name, ID: p.ID, Set: p.Set})
	}
	return writeapi.Recorded(call, response, found.Position, nil)
}

type variablesRequest struct {
	Config string   `body:"config_id" required:"true" minlen:"1" maxlen:"200" doc:"The platform's id of the configuration." example:"icfg_1a2b3c"`
	Add    []string `body:"add_project_names" doc:"Projects that get a key, unless they have one." example:"website"`
	Remove []string `body:"remove_projects" doc:"Projects from which the key is removed. It is deleted, too."`
}

type hostingVariablesResponse struct {
	Success bool             `json:"success" doc:"Whether all projects are as they should be."`
	Failed  []hostingFailure `json:"failed" doc:"projects that are not as they should be, with the reason"`
}

type hostingFailure struct {
	Project string `json:"project" doc:"The project, as it was given."`
	Message string `json:"message" doc:"What went wrong."`
}

func (a *API) setVariables(call *web.Call, in variablesRequest) (web.Reply, error) {
	var wrong []web.Item
	given := func(input string, values []string) []string {
		all, err := names(values)
		if err != nil {
			wrong = append(wrong, call.Wrong(input, err.Error()))
		}
		return all
	}
	add, remove := given("add_project_names", in.Add), given("remove_projects", in.Remove)
	if len(wrong) > 0 {
		return web.Reply{}, web.Invalid(wrong...)
	}
	failed, position, err := a.Hosting.SetVariables(call, call.Principal.Account, in.Config, add, remove,
		writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, refusal(err)
	}
	response := hostingVariablesResponse{Success: len(failed) == 0, Failed: []hostingFailure{}}
	for _, f := range failed {
		response.Failed = append(response.Failed, hostingFailure{Project: f.Project, Message: message(f.Err)})
	}
	return writeapi.Visible(call, a.ReadModels, response, position, nil)
}

// names parses a list of projects: each value has names separated by commas, or is a JSON array of names.
func names(values []string) (all []string, err error) {
	for _, value := range values {
		some := strings.Split(value, ",")
		if strings.HasPrefix(strings.TrimSpace(value), "[") && json.Unmarshal([]byte(value), &some) != nil {
			return nil, errors.New("the array is not one of names")
		}
		for _, name := range some {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	switch {
	case len(all) > maxProjects:
		return nil, fmt.Errorf("at most %d projects", maxProjects)
	case slices.ContainsFunc(all, func(name string) bool { return utf8.RuneCountInString(name) > maxName }):
		return nil, fmt.Errorf("a name has at most %d characters", maxName)
	}
	return all, nil
}

// tooMany is the message while the platform limits requests.
const tooMany = "The hosting platform limits requests; try again later"

func refusal(err error) error {
	if limited, is := errors.AsType[*platform.LimitedError](err); is {
		return web.TooManyRequests(tooMany, limited.After)
	}
	return err
}

// message returns the message of an error for a client.
func message(err error) string {
	if errors.As(err, new(*platform.LimitedError)) {
		return tooMany
	}
	if refused, is := errors.AsType[*domain.Error](err); is {
		return refused.Message
	}
	return "Internal Server Error"
}
