package hosting

import "context"

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
