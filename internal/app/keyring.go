package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/internal/eventlog"
)

// keyringSlice is that of the keyring that belongs to the log. Its commands come before all parts that seal anything.
func keyringSlice() slice { return slice{name: "keyring", events: commands.Events()} }

// matchKeyring refuses a keyring that is not the log's.
func (a *App) matchKeyring(ctx context.Context) error {
	err := commands.New(a.journal, a.log, time.Now).Match(ctx, a.keys, a.cfg.AbandonKeyring, whoeverStarts())
	var other *commands.OtherError
	if errors.As(err, &other) {
		return fmt.Errorf("%w: what was sealed with the log's keyring (texts of clips, feedback) could not be read. Restore the schema keyring of the Postgres "+
			"that had it, or connect to that Postgres; or give those texts up for ever with --abandon-keyring=%s (RECITAL_ABANDON_KEYRING)", err, other.Known)
	}
	return err
}

// whoeverStarts is the person who has started this process, as far as the system knows.
func whoeverStarts() journal.Origin {
	name := "unknown"
	if person, err := user.Current(); err == nil {
		name = person.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorOperator, Name: name}}
}
