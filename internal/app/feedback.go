package app

import (
	"time"

	commands "github.com/recital-tts/recital/commands/feedback"
	writeapi "github.com/recital-tts/recital/writeapi/feedback"
)

// feedbackSlice returns the slice of what clients think of a synthesis.
func feedbackSlice(core *coreParts) slice {
	return slice{
		name:   "feedback",
		events: commands.Events(),
		open: func() (service, error) {
			write := writeapi.API{Feedback: commands.New(core.journal, core.keys, core.generations(), time.Now)}
			return service{public: write.Routes()}, nil
		},
	}
}
