package app

import (
	"github.com/recital-tts/recital/internal/rendering"
	writeapi "github.com/recital-tts/recital/writeapi/voices"
)

// voicesSlice is that of who speaks.
func voicesSlice() slice {
	return slice{
		name: "voices",
		open: func(p *parts) (service, error) {
			write := writeapi.API{Previews: rendering.NewPreviews(p.speaker, p.encoders), Links: p.links()}
			return service{public: write.Routes()}, nil
		},
	}
}
