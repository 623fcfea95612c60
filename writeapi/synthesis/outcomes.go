package synthesis

import (
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/audio"
)

// returnsAudio declares the headers and the content types of the formats, that of the default first.
func returnsAudio(byDefault audio.Format) web.Option {
	types := []string{byDefault.ContentType()}
	for _, format := range audio.Formats() {
		types = append(types, format.ContentType())
	}
	return web.ReturnsMedia(types, web.Means("The audio, sent while it is made"), web.SendsHeaders[headers]())
}

func returnsRecording() web.Option {
	return web.Returns[detailedResponse](web.Means("All of the audio"), web.SendsHeaders[headers](),
		web.Sends("x-recital-position"), web.MaySend("x-recital-stale"))
}
