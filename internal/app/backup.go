package app

import (
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	writeapi "github.com/recital-tts/recital/writeapi/backup"
)

// backupSlice gives out the blobs for backups. The slices of the log and of the keyring give out theirs.
func backupSlice(stores *storeParts) slice {
	return slice{
		name: "backup",
		open: func() (service, error) {
			write := writeapi.API{Blobs: stores.blobs, Fleeting: wordtimes.Has}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}
