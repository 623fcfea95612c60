package app

import (
	"time"

	commands "github.com/recital-tts/recital/commands/pronunciations"
	writeapi "github.com/recital-tts/recital/writeapi/pronunciations"
)

// pronunciationsSlice returns the slice of how accounts have words spoken.
func pronunciationsSlice(core *coreParts, shared *sharedParts) slice {
	return slice{
		name:   "pronunciations",
		events: commands.Events(),
		open: func() (service, error) {
			var err error
			if shared.pronunciations, err = commands.New(core.journal, core.keys, time.Now); err != nil {
				return service{}, err
			}
			write := writeapi.API{Pronunciations: shared.pronunciations}
			return service{public: write.Routes(), erases: []closing{shared.pronunciations.Forget}}, nil
		},
	}
}
