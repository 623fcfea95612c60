package app

import (
	"github.com/recital-tts/recital/internal/speech/wordtimes"
	writeapi "github.com/recital-tts/recital/writeapi/backup"
)

// backupSlice returns the slice that hands out the blobs for backups. Log and keyring have routes in their own slices.
func backupSlice(stores *storeParts) slice {
	return slice{
		name: "backup",
		open: func() (service, error) {
			write := writeapi.API{Blobs: stores.blobs, Fleeting: wordtimes.Has}
			return service{admin: write.AdminRoutes()}, nil
		},
	}
}
