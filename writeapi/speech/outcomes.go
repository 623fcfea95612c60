package speech

import (
	"github.com/recital-tts/recital/internal/audio"
	"github.com/recital-tts/recital/internal/web"
)

// returnsAudio declares what describe tells in headers, and the content types of the formats.
func returnsAudio() web.Option {
	var types []string
	for _, format := range audio.Formats() {
		types = append(types, format.ContentType())
	}
	always, sometimes := describedHeaders()
	return web.ReturnsMedia(types, web.Means("The audio, sent while it is made"), always, sometimes)
}

func returnsRecording() web.Option {
	always, sometimes := describedHeaders()
	return web.Returns[detailedResponse](web.Means("All of the audio"), always, sometimes,
		web.Sends("x-recital-position"), web.MaySend("x-recital-stale"))
}

func describedHeaders() (always, sometimes web.OutcomeOption) {
	always = web.Sends("x-generation-id", "x-model-version", "x-seed", "x-character-count", "x-characters-used")
	sometimes = web.MaySend("x-clip-id", "x-timestamps-url", "x-warning", "x-characters-limit", "x-characters-remaining",
		"x-concurrency-current", "x-concurrency-limit")
	return always, sometimes
}
