// Package hosting is the port of a platform that hosts the projects of accounts, with environment variables. Its
// adapters are vercel, for the platform's API, and standin, a platform for development that speaks the part of that API
// which Recital uses.
package hosting

import (
	"context"
	"errors"
	"time"
)

// Platform is a hosting platform. Errors are those below: after ErrUnavailable, a change may or may not have been made;
// after all others, it was not.
type Platform interface {
	// Exchange returns the access for a code, which the platform accepts once.
	Exchange(ctx context.Context, code string) (Access, error)
	// Projects returns the projects that can be changed, and whether these are all.
	Projects(ctx context.Context, a Access) (projects []Project, all bool, err error)
	// Project returns a project by its id or name.
	Project(ctx context.Context, a Access, idOrName string) (Project, error)
	// Variable returns the environment variable of a name, or ErrNotFound.
	Variable(ctx context.Context, a Access, project, name string) (Variable, error)
	// SetVariable creates an environment variable, or replaces the one of the same name, and returns its id.
	SetVariable(ctx context.Context, a Access, project string, v NewVariable) (id string, err error)
	// RemoveVariable removes an environment variable.
	RemoveVariable(ctx context.Context, a Access, project, id string) error
}

// Errors of a platform. Their messages may be shown to the caller.
var (
	ErrCode        = errors.New("the hosting platform does not accept the code")
	ErrDenied      = errors.New("the hosting platform grants no access")
	ErrNotFound    = errors.New("the hosting platform does not know the object")
	ErrRejected    = errors.New("the hosting platform does not permit it")
	ErrUnavailable = errors.New("the hosting platform does not answer")
)

// LimitedError means that the platform refuses requests for a while.
type LimitedError struct{ After time.Duration }

func (e *LimitedError) Error() string {
	return "the hosting platform takes no more requests for a while"
}

// Access is the access of an installation on the platform.
type Access struct {
	Token        string
	Installation string
	Team         string // "" for a person's own projects
}

// Project is a project on the platform.
type Project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Variable is an environment variable of a project.
type Variable struct {
	ID      string
	Comment string
}

// NewVariable is an environment variable to set, for all environments.
type NewVariable struct{ Name, Value, Comment string }

// Off is the platform of a service that has no credentials for one.
type Off struct{}

// Exchange implements Platform.
func (Off) Exchange(context.Context, string) (Access, error) { return Access{}, ErrRejected }

// Projects implements Platform.
func (Off) Projects(context.Context, Access) ([]Project, bool, error) { return nil, false, ErrDenied }

// Project implements Platform.
func (Off) Project(context.Context, Access, string) (Project, error) { return Project{}, ErrDenied }

// Variable implements Platform.
func (Off) Variable(context.Context, Access, string, string) (Variable, error) {
	return Variable{}, ErrDenied
}

// SetVariable implements Platform.
func (Off) SetVariable(context.Context, Access, string, NewVariable) (string, error) {
	return "", ErrDenied
}

// RemoveVariable implements Platform.
func (Off) RemoveVariable(context.Context, Access, string, string) error { return ErrDenied }
