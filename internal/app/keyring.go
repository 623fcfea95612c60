package app

import (
	"errors"
	"log/slog"

	commands "github.com/recital-tts/recital/commands/keyring"
	writeapi "github.com/recital-tts/recital/writeapi/keyring"
)

// keyringSlice is that of the keyring that belongs to the log.
func keyringSlice() slice {
	return slice{
		name:   "keyring",
		events: commands.Events(),
		open: func(p *parts) (service, error) {
			write := writeapi.API{Keyring: p.keyring}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}

// isForeign reports whether an error means that Postgres has another keyring than the log's.
func isForeign(err error) bool {
	var other *commands.OtherError
	return errors.As(err, &other)
}

// explainForeign says the ways out.
func explainForeign(log *slog.Logger, err error) {
	log.Error("this Postgres is not used, because what was sealed with the log's keyring (texts of clips, feedback) could not be read with the one in it; "+
		"recitald serves what it can without Postgres. Restore the schema keyring of the Postgres that had it, or connect to that Postgres; "+
		"or give those texts up for ever: recitalctl keyring abandon ID", "error", err)
}
