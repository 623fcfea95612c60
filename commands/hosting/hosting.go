// Package hosting connects accounts to the hosting platform, and keeps their API keys in environment variables there.
package hosting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
	platform "github.com/recital-tts/recital/internal/providers/hosting"
)

// CompleteProcess is the name of the to-do list of variables with a change that a crash or an outage has interrupted.
const CompleteProcess = "complete_variable"

// VariableName is the name of the environment variables.
const VariableName = "RECITAL_API_KEY"

// Config configures a Hosting.
type Config struct {
	Journal  *journal.Journal
	Platform platform.Platform
	Keyring  keyring.Keyring
	APIKeys  APIKeys
	Now      func() time.Time
}

// APIKeys manages the keys of accounts.
type APIKeys interface {
	// AddKey adds a new key to an account.
	AddKey(ctx context.Context, account, key, name string, origin journal.Origin) error
	// DropKey deletes the key with a hash, if the account has it.
	DropKey(ctx context.Context, account, hash string, origin journal.Origin) error
	// HasKey reports whether the account has the key with a hash.
	HasKey(ctx context.Context, account, hash string) (bool, error)
}

// Hosting executes the commands on connections and variables. Errors of its methods, besides those in their comments:
// domain.Unavailable while the platform, the log or the keyring does not respond; domain.Rejected if the platform
// refuses the request or has withdrawn the access; a *platform.LimitedError.
type Hosting struct{ Config }

// New returns a Hosting.
func New(config Config) *Hosting { return &Hosting{config} }

// Refusals of the platform.
var (
	errCode = domain.Refuse(domain.Invalid, "The hosting platform does not accept the code")
	// errOtherConfig refuses a code of another configuration.
	errOtherConfig = domain.Refuse(domain.Invalid, "The code belongs to another configuration")
	errNoAccess    = domain.Refuse(domain.Rejected,
		"The hosting platform no longer grants access; connect it again with a code")
	errNoProject = domain.Refuse(domain.NotFound, "The hosting platform does not know the project")
	errRejected  = domain.Refuse(domain.Rejected, "The hosting platform does not permit it")
	errLeft      = domain.Refuse(domain.Rejected, "The API key is deleted; its variable is left, because the hosting "+
		"platform no longer grants access")
	errAway = domain.Refuse(domain.Unavailable, "The hosting platform does not answer")
)

// refusal returns the client's error for an error of the platform.
func refusal(err error) error {
	for is, refused := range map[error]error{
		platform.ErrCode: errCode, platform.ErrDenied: errNoAccess, platform.ErrNotFound: errNoProject,
		platform.ErrRejected: errRejected, platform.ErrUnavailable: errAway,
	} {
		if errors.Is(err, is) {
			return fmt.Errorf("%w: %w", refused, err)
		}
	}
	return err
}

// connection is a usable configuration.
type connection struct {
	account string
	config  string
	access  platform.Access
	origin  journal.Origin
}

// connect exchanges a code, unless that was done before, and records the access. A crash in between loses the code; its
// owner can get another one from the platform.
func (h *Hosting) connect(
	ctx context.Context, id, config, code string, origin journal.Origin,
) (eventlog.Position, error) {
	sum := sha256.Sum256([]byte(code))
	hash := hex.EncodeToString(sum[:])
	state, version, err := h.load(ctx, id)
	if err != nil || state.Connections[config].Code == hash {
		return version.Position, err
	}
	connect := hosting.Connect{Account: id, Config: config, Code: hash, At: h.now()}
	if _, err := connect.Decide(state); err != nil { // before the code is spent
		return eventlog.Position{}, err
	}
	access, err := h.Platform.Exchange(ctx, code)
	if err != nil {
		return eventlog.Position{}, refusal(err)
	}
	if access.Installation != config {
		return eventlog.Position{}, errOtherConfig
	}
	connect.Installation, connect.Team = access.Installation, access.Team
	if connect.Token, err = h.Keyring.Seal(ctx, id, []byte(access.Token), hosting.SealedForToken(config)); err != nil {
		return eventlog.Position{}, fmt.Errorf("sealing a token: %w", err)
	}
	return h.execute(ctx, id, connect, origin)
}

// connected returns the connection of a configuration.
func (h *Hosting) connected(
	ctx context.Context, s hosting.State, config string, origin journal.Origin,
) (connection, error) {
	found, known := s.Connections[config]
	if !known {
		return connection{}, hosting.ErrNotConnected
	}
	token, err := h.Keyring.Open(ctx, s.Account, found.Token, hosting.SealedForToken(config))
	// without a token the platform refuses the request, as with a revoked one
	if keyring.Gone(err) {
		token, err = nil, nil
	}
	return connection{
		account: s.Account, config: config, origin: origin,
		access: platform.Access{Token: string(token), Installation: found.Installation, Team: found.Team},
	}, err
}

// Projects are the projects that a configuration may change.
type Projects struct {
	Listed   []Project
	All      bool // the list is complete
	Position eventlog.Position
}

// Project is a project at the platform.
type Project struct {
	ID, Name string
	Set      bool // the account has a variable in it
}

// Projects lists the projects of a configuration. With a code, the configuration is connected first. Errors:
// domain.NotFound for a configuration that is not connected, domain.Invalid for an invalid code.
func (h *Hosting) Projects(
	ctx context.Context, id, config, code string, origin journal.Origin,
) (p Projects, err error) {
	if code != "" {
		if _, err := h.connect(ctx, id, config, code, origin); err != nil {
			return Projects{}, err
		}
	}
	state, version, err := h.load(ctx, id)
	if err != nil {
		return Projects{}, err
	}
	c, err := h.connected(ctx, state, config, origin)
	if err != nil {
		return Projects{}, refusal(err)
	}
	listed, all, err := h.Platform.Projects(ctx, c.access)
	if err != nil {
		return Projects{}, refusal(err)
	}
	p.All, p.Position = all, version.Position
	for _, one := range listed {
		v, found := state.Variable(config, one.ID)
		p.Listed = append(p.Listed, Project{ID: one.ID, Name: one.Name, Set: found && v.Settled()})
	}
	return p, nil
}

// Failure is a project that could not be changed, with the reason.
type Failure struct {
	Project string
	Err     error // a refusal, or a *platform.LimitedError
}

// SetVariables first removes the variables of projects, then sets those of others, each with its own key. Projects are
// given by their names or ids. A variable that already is as requested is not changed. A refusal means that no project
// was changed, another error that the remaining ones were not.
func (h *Hosting) SetVariables(
	ctx context.Context, id, config string, add, remove []string, origin journal.Origin,
) ([]Failure, eventlog.Position, error) {
	state, version, err := h.load(ctx, id)
	if err != nil {
		return nil, eventlog.Position{}, err
	}
	c, err := h.connected(ctx, state, config, origin)
	if err != nil {
		return nil, eventlog.Position{}, refusal(err)
	}
	b := batch{position: version.Position}
	for _, name := range remove {
		b.next(ctx, name, func() (eventlog.Position, error) { return h.removeNamed(ctx, c, name) })
	}
	for _, name := range add {
		b.next(ctx, name, func() (eventlog.Position, error) { return h.add(ctx, c, name) })
	}
	if b.stopped != nil && (b.broken || len(b.failures) == len(add)+len(remove)) {
		return nil, b.position, b.stopped
	}
	return b.failures, b.position, nil
}

// batch is a request for several projects. It stops when the platform is unavailable.
type batch struct {
	failures []Failure
	position eventlog.Position
	stopped  error // the failure of all remaining projects
	broken   bool  // stopped is not for clients
}

var errNoTime = domain.Refuse(domain.Unavailable, "There was no time left; repeat the request")

func (b *batch) next(ctx context.Context, project string, do func() (eventlog.Position, error)) {
	if end, ends := ctx.Deadline(); b.stopped == nil && ends && time.Until(end) < attempt {
		b.stopped = errNoTime
	}
	if b.stopped != nil {
		b.failures = append(b.failures, Failure{project, b.stopped})
		return
	}
	position, err := do()
	if position.Compare(b.position) > 0 {
		b.position = position
	}
	if err == nil {
		return
	}
	err = refusal(err)
	b.failures = append(b.failures, Failure{project, err})
	limited := errors.As(err, new(*platform.LimitedError))
	b.broken = !limited && domain.CodeOf(err) == ""
	if limited || b.broken || domain.CodeOf(err) == domain.Unavailable || errors.Is(err, errNoAccess) {
		b.stopped = err
	}
}

// Complete completes interrupted changes in the stream of an account. It returns a *todo.NotYetError while a request
// may still be working on them.
func (h *Hosting) Complete(ctx context.Context, name string, cause uuid.UUID) (eventlog.Position, error) {
	id, origin := strings.TrimPrefix(name, hosting.StreamPrefix), journal.CausedBy(cause)
	position, err := h.each(ctx, id, origin, func(c connection, v hosting.Variable) (eventlog.Position, error) {
		switch {
		case v.Settled():
			return eventlog.Position{}, nil
		case v.Removing:
			return h.remove(ctx, c, v)
		}
		name, err := h.projectOf(ctx, id, v)
		if err != nil {
			return eventlog.Position{}, err
		}
		return h.set(ctx, c, platform.Project{ID: v.Project, Name: name})
	})
	return position, err
}

// EndFor removes the variables of a closed account from the platform. It may be repeated.
func (h *Hosting) EndFor(ctx context.Context, id string) error {
	origin := journal.System()
	_, err := h.each(ctx, id, origin, func(c connection, v hosting.Variable) (eventlog.Position,
		error) {
		return h.remove(ctx, c, v)
	})
	if err != nil {
		return err
	}
	_, err = h.execute(ctx, id, hosting.End{At: h.now()}, origin)
	return err
}

// each calls do with each variable of an account. It treats refusals as outcomes.
func (h *Hosting) each(ctx context.Context, id string, origin journal.Origin,
	do func(connection, hosting.Variable) (eventlog.Position, error)) (eventlog.Position, error) {
	state, version, err := h.load(ctx, id)
	if err != nil {
		return eventlog.Position{}, err
	}
	last := version.Position
	for _, v := range state.Variables {
		if rest := v.Rest(h.now()); rest > 0 {
			return last, &todo.NotYetError{After: rest}
		}
		c, err := h.connected(ctx, state, v.Config, origin)
		if err != nil {
			return last, err
		}
		position, err := do(c, v)
		var limited *platform.LimitedError
		switch {
		case errors.As(err, &limited):
			return last, &todo.NotYetError{After: limited.After}
		case err != nil && !final(err):
			return last, refusal(err)
		case position.Compare(last) > 0:
			last = position
		}
	}
	return last, nil
}

type command = journal.Decider[hosting.State, hosting.Event]

func (h *Hosting) load(ctx context.Context, id string) (hosting.State, journal.Version, error) {
	return journal.Load(ctx, h.Journal, stream(id))
}

func (h *Hosting) execute(ctx context.Context, id string, c command, origin journal.Origin) (eventlog.Position, error) {
	_, position, err := journal.Execute(ctx, h.Journal, stream(id), c, origin.Metadata(uuid.New(), h.now()))
	return position, err
}

func stream(id string) journal.Stream[hosting.State, hosting.Event] {
	return journal.Stream[hosting.State, hosting.Event]{Name: hosting.Stream(id), Evolve: hosting.Evolve}
}

func (h *Hosting) now() time.Time { return h.Now().UTC() }
