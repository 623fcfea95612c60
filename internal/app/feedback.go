package app

import (
	"time"

	commands "github.com/recital-tts/recital/commands/feedback"
	writeapi "github.com/recital-tts/recital/writeapi/feedback"
)

// feedbackSlice is that of what clients think of syntheses.
func feedbackSlice() slice {
	return slice{
		name:   "feedback",
		events: commands.Events(),
		open: func(p *parts) (service, error) {
			write := writeapi.API{Feedback: commands.New(p.journal, p.keys, p.generations(), time.Now)}
			return service{public: write.Routes()}, nil
		},
	}
}
