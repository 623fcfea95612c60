package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/internal/process/release"
)

// Identity distinguishes logs, and a log from its state before a restore. Checkpoints contain it, because a position
// has a meaning only in one log and epoch.
type Identity struct {
	LogID uuid.UUID
	Epoch int
}

// IdentityStream is the stream of the log's LogOpened events. The last one is valid.
const IdentityStream = "log-identity"

// LogOpened sets the identity of the log when it is first used. A restore appends it again, with the same id and the
// next epoch.
type LogOpened struct {
	LogID  uuid.UUID `json:"logId"`
	Epoch  int       `json:"epoch"`
	Format string    `json:"format"` // release.Format of the release that appended the event
}

// opened returns the event that sets an identity.
func (id Identity) opened() LogOpened {
	return LogOpened{LogID: id.LogID, Epoch: id.Epoch, Format: release.Format}
}

// LogOpenedType returns the registry's type of LogOpened.
func LogOpenedType() Type { return In(IdentityStream, Define[LogOpened]("log-opened", 1))[0] }

// Identify returns the log's identity. If it has none, newID becomes its id. Instances that start at the same time on
// an empty log all get the same result. The registry must contain LogOpenedType.
func Identify(ctx context.Context, log Log, registry *Registry, newID uuid.UUID, now time.Time) (Identity, error) {
	id, found, err := ReadIdentity(ctx, log, registry)
	if err != nil || found {
		return id, err
	}
	meta := Metadata{CorrelationID: newID.String(), Actor: Actor{Kind: ActorSystem}, Time: now}
	events, err := registry.Encode(newID, 0, meta, Identity{LogID: newID, Epoch: 1}.opened())
	if err != nil {
		return Identity{}, fmt.Errorf("opening the log: %w", err)
	}
	_, err = log.Append(ctx, IdentityStream, NoStream, events)
	if err != nil && !errors.As(err, new(*ConflictError)) {
		return Identity{}, fmt.Errorf("opening the log: %w", err)
	}
	id, found, err = ReadIdentity(ctx, log, registry)
	if err == nil && !found {
		err = errors.New("the log's identity was written and is not there")
	}
	return id, err
}

// NextEpoch opens the epoch after current, because the positions of the log have changed: it was restored, or copied to
// another event store. Repeating it has no effect. The registry must contain LogOpenedType.
func NextEpoch(
	ctx context.Context, log Log, registry *Registry, current Identity, by Actor, now time.Time,
) (Identity, error) {
	next := Identity{LogID: current.LogID, Epoch: current.Epoch + 1}
	for last, err := range log.ReadStreamBackwards(ctx, IdentityStream) {
		if err != nil {
			return Identity{}, fmt.Errorf("opening an epoch of the log: %w", err)
		}
		if id, _, err := ReadIdentity(ctx, log, registry); err != nil || id == next {
			return id, err
		} else if id != current {
			return Identity{}, fmt.Errorf("opening epoch %d of the log %s: it is the log %s in epoch %d", next.Epoch, next.LogID,
				id.LogID, id.Epoch)
		}
		command := uuid.NewSHA1(next.LogID, fmt.Append(nil, "epoch ", next.Epoch))
		meta := Metadata{CorrelationID: command.String(), Actor: by, Time: now}
		events, err := registry.Encode(command, 0, meta, next.opened())
		if err != nil {
			return Identity{}, fmt.Errorf("opening an epoch of the log: %w", err)
		}
		_, err = log.Append(ctx, IdentityStream, Revision(last.Revision), events)
		return next, err
	}
	return Identity{}, errors.New("opening an epoch of the log: the log has no identity")
}

// ReadIdentity returns the log's identity, or false if it has none. It returns an error if the log comes from an
// unreleased build or has another format.
func ReadIdentity(ctx context.Context, log Log, registry *Registry) (Identity, bool, error) {
	for recorded, err := range log.ReadStreamBackwards(ctx, IdentityStream) {
		if err != nil {
			return Identity{}, false, fmt.Errorf("reading the log's identity: %w", err)
		}
		decoded, err := registry.Decode(recorded)
		if err != nil {
			return Identity{}, false, fmt.Errorf("reading the log's identity: %w", err)
		}
		opened, ok := decoded.Event.(LogOpened)
		if !ok {
			return Identity{}, false, fmt.Errorf("reading the log's identity: found a %s", recorded.Type)
		}
		id := Identity{LogID: opened.LogID, Epoch: opened.Epoch}
		return id, true, release.CheckFormat("the event log "+id.LogID.String(), opened.Format)
	}
	return Identity{}, false, nil
}
