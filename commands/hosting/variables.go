package hosting

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/eventlog"
	platform "github.com/recital-tts/recital/internal/providers/hosting"
)

// attempt bounds the work on a variable, well below the time after which other instances may take it over.
const attempt = hosting.Patience * 2 / 3

// add sets the variable of a project.
func (h *Hosting) add(ctx context.Context, c connection, name string) (eventlog.Position, error) {
	project, err := h.Platform.Project(ctx, c.access, name)
	if err != nil {
		return eventlog.Position{}, err
	}
	return h.set(ctx, c, project)
}

// set sets the variable of a project, unless the platform has it with a valid key. The key is sent to the platform and
// not stored, so that a key that the platform may not have received is deleted and replaced.
func (h *Hosting) set(ctx context.Context, c connection, project platform.Project) (eventlog.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	state, _, err := h.load(ctx, c.account)
	if err != nil {
		return eventlog.Position{}, err
	}
	old, found := state.Variable(c.config, project.ID)
	if !found {
		return h.setNew(ctx, c, project, "")
	}
	if old.Rest(h.now()) > 0 {
		return eventlog.Position{}, hosting.ErrUnderway
	}
	id, err := h.kept(ctx, c, old)
	if err == nil && id != "" {
		return h.execute(ctx, c.account, hosting.Set{Hash: old.Hash, Variable: id, At: h.now()}, c.origin)
	}
	if err == nil {
		err = h.clear(ctx, c, old)
	}
	switch {
	case err == nil:
		return h.setNew(ctx, c, project, old.Hash)
	case final(err) && !old.Settled():
		return h.giveUp(ctx, c, old.Hash, errors.Is(err, platform.ErrDenied), err)
	}
	return eventlog.Position{}, err
}

// clear deletes the key of a variable, and the variable at the platform, before another one replaces it. So the
// platform has no variable after a failure that is not in the stream.
func (h *Hosting) clear(ctx context.Context, c connection, old hosting.Variable) error {
	if err := h.APIKeys.DropKey(ctx, c.account, old.Hash, c.origin); err != nil {
		return err
	}
	if err := h.takeDown(ctx, c, old); err != nil && !errors.Is(err, platform.ErrNotFound) {
		return err
	}
	return nil
}

// kept returns the platform's id of a variable, or "" if it is being removed, or if the platform or the account lacks
// its key.
func (h *Hosting) kept(ctx context.Context, c connection, v hosting.Variable) (string, error) {
	if v.Removing {
		return "", nil
	}
	there, err := h.Platform.Variable(ctx, c.access, v.Project, VariableName)
	if errors.Is(err, platform.ErrNotFound) || err == nil && there.Comment != comment(v.Masked) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	valid, err := h.APIKeys.HasKey(ctx, c.account, v.Hash)
	if err != nil || !valid {
		return "", err
	}
	return there.ID, nil
}

// setNew sets the variable of a project to a new key. The key is recorded before it is created, and created before the
// platform gets it.
func (h *Hosting) setNew(
	ctx context.Context, c connection, project platform.Project, instead string,
) (eventlog.Position, error) {
	key, err := account.DrawAPIKey(rand.Reader)
	if err != nil {
		return eventlog.Position{}, err
	}
	begun := hosting.VariableBegun{
		Account: c.account, Config: c.config, Project: project.ID, Hash: account.HashAPIKey(key),
		Masked: account.MaskAPIKey(key), At: h.now(),
	}
	if begun.SealedName, err = h.Keyring.Seal(ctx, c.account, []byte(project.Name),
		hosting.SealedForName(begun.Hash)); err != nil {
		return eventlog.Position{}, fmt.Errorf("sealing the name of a project: %w", err)
	}
	position, err := h.execute(ctx, c.account, hosting.Begin{VariableBegun: begun, Instead: instead}, c.origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	var id string
	if err = h.APIKeys.AddKey(ctx, c.account, key, project.Name, c.origin); err == nil {
		id, err = h.Platform.SetVariable(ctx, c.access, project.ID, platform.NewVariable{Name: VariableName, Value: key,
			Comment: comment(begun.Masked)})
	}
	switch {
	case err == nil:
		return h.execute(ctx, c.account, hosting.Set{Hash: begun.Hash, Variable: id, At: h.now()}, c.origin)
	case final(err), errors.As(err, new(*platform.LimitedError)):
		return h.giveUp(ctx, c, begun.Hash, false, err)
	}
	return position, err
}

// giveUp deletes the key of a variable that is not set, or that may remain at the platform, and returns the reason.
func (h *Hosting) giveUp(
	ctx context.Context, c connection, hash string, left bool, reason error,
) (eventlog.Position, error) {
	if err := h.APIKeys.DropKey(ctx, c.account, hash, c.origin); err != nil {
		return eventlog.Position{}, err
	}
	position, err := h.execute(ctx, c.account, hosting.Remove{Hash: hash, Left: left, At: h.now()}, c.origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	return position, reason
}

// removeNamed removes the variable of a project, if there is one.
func (h *Hosting) removeNamed(ctx context.Context, c connection, name string) (eventlog.Position, error) {
	state, version, err := h.load(ctx, c.account)
	if err != nil {
		return eventlog.Position{}, err
	}
	v, found, err := h.variable(ctx, state, c.config, name)
	if err != nil || !found {
		return version.Position, err
	}
	return h.remove(ctx, c, v)
}

// variable returns the variable in a project, given by its id or name.
func (h *Hosting) variable(
	ctx context.Context, s hosting.State, config, project string,
) (hosting.Variable, bool, error) {
	if v, found := s.Variable(config, project); found {
		return v, true, nil
	}
	for _, v := range s.Variables {
		if v.Config != config {
			continue
		}
		if name, err := h.projectOf(ctx, s.Account, v); err != nil || name == project {
			return v, err == nil, err
		}
	}
	return hosting.Variable{}, false, nil
}

// projectOf returns the name of a variable's project, or "" if it cannot be decrypted any more.
func (h *Hosting) projectOf(ctx context.Context, id string, v hosting.Variable) (string, error) {
	name, err := keyring.OpenText(ctx, h.Keyring, id, v.SealedName, hosting.SealedForName(v.Hash))
	if name == nil {
		return "", err
	}
	return *name, nil
}

// remove removes a variable and deletes its key. If the platform has withdrawn the access, it only deletes the key, and
// returns errLeft.
func (h *Hosting) remove(ctx context.Context, c connection, v hosting.Variable) (eventlog.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	position, err := h.execute(ctx, c.account, hosting.BeginRemoval{Hash: v.Hash, At: h.now()}, c.origin)
	if err != nil {
		return eventlog.Position{}, err
	}
	refused := h.takeDown(ctx, c, v)
	left := errors.Is(refused, platform.ErrDenied)
	if refused != nil && !left && !errors.Is(refused, platform.ErrNotFound) {
		return position, refused
	}
	if err := h.APIKeys.DropKey(ctx, c.account, v.Hash, c.origin); err != nil {
		return position, err
	}
	position, err = h.execute(ctx, c.account, hosting.Remove{Hash: v.Hash, Left: left, At: h.now()}, c.origin)
	if err == nil && left {
		err = errLeft
	}
	return position, err
}

// takeDown removes a variable at the platform, unless its owner has replaced it there.
func (h *Hosting) takeDown(ctx context.Context, c connection, v hosting.Variable) error {
	there, err := h.Platform.Variable(ctx, c.access, v.Project, VariableName)
	if err != nil || there.ID != v.ID && there.Comment != comment(v.Masked) {
		return err
	}
	return h.Platform.RemoveVariable(ctx, c.access, v.Project, there.ID)
}

// comment returns the comment by which our variables are recognised at the platform.
func comment(masked string) string { return "Recital API key " + masked }

// final reports whether an error means that the request had no effect, and that a repetition would have none either.
func final(err error) bool {
	code := domain.CodeOf(err)
	return code != "" && code != domain.Unavailable ||
		errors.Is(err, platform.ErrDenied) || errors.Is(err, platform.ErrNotFound) || errors.Is(err, platform.ErrRejected)
}
