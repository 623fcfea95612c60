package app

import (
	"context"
	"errors"
	"io"
	"log/slog"

	commands "github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	backupapi "github.com/recital-tts/recital/writeapi/backup"
	writeapi "github.com/recital-tts/recital/writeapi/keyring"
)

// keyringSlice returns the slice of the log's keyring.
func keyringSlice(stores *storeParts) slice {
	return slice{
		name:   "keyring",
		events: commands.Events(),
		open: func() (service, error) {
			write := writeapi.API{Keyring: stores.keyring, Inbox: stores.folder.Incoming("keyring-upload")}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}

// errKeyringWaits means that a keyring must be imported, which may take longer than a start.
var errKeyringWaits = errors.New("a copy of the keyring waits in the data folder")

// keyringWaits reports whether a restore has left a copy of the keyring.
func (a *App) keyringWaits() bool { return a.folder.Incoming(backup.KeyringName).Waits() }

// takeKeyringUp imports the copy of the keyring that recitalctl restore has left in the data folder. This must happen
// before Postgres is used: otherwise data could be sealed with keys of another keyring, or opened after its erasure.
func (a *App) takeKeyringUp(ctx context.Context) error {
	_, err := a.folder.Incoming(backup.KeyringName).Take(func(from io.Reader) error {
		_, err := a.keyring.Import(ctx, from)
		return err
	})
	return err
}

// isForeign reports whether an error means that Postgres has a keyring other than the log's.
func isForeign(err error) bool {
	_, is := errors.AsType[*commands.OtherError](err)
	return is
}

// explainForeign logs the operator's options.
func explainForeign(log *slog.Logger, err error) {
	log.Error("this Postgres is not used, because what was sealed with the log's keyring (texts of clips, feedback) "+
		"could not be read with the one in it; recitald serves what it can without Postgres. Import the keyring "+
		"from a backup (recitalctl keyring import DIR), or connect to the Postgres that has it; "+
		"or give those texts up for ever: recitalctl keyring abandon ID --reason TEXT", "error", err)
}

// backupSlice returns the slice with the routes for backups of blobs. Log and keyring have routes in their own slices.
func backupSlice(stores *storeParts) slice {
	return slice{
		name: "backup",
		open: func() (service, error) {
			write := backupapi.API{Blobs: stores.blobs, Fleeting: wordtimes.Has}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}
