package request

// Meanings returns what parameters do, in a line each; docs/speech-parameters.md says more.
func Meanings() map[string]string {
	return map[string]string{
		"text":              "The text to speak: characters are Unicode code points.",
		"voice":             "The id of the voice.",
		"model":             "The model, which chooses engine and delivery.",
		"language":          "The language of the text: a code such as `en`, `de` or `pt-BR`, or `auto`, which finds it from the script.",
		"format":            "How the audio is encoded. `ulaw` comes in a WAV container, `webm` holds Opus, `raw` is `pcm_s16le`.",
		"sample_rate":       "Samples a second. 24000 by default, 8000 for `ulaw`.",
		"speed":             "A factor on the voice's own pace.",
		"length":            "The seconds that the audio lasts, in place of `speed`.",
		"seed":              "Which of the renderings that other parameters leave open. The reply returns it, and the same seed gives the same bytes.",
		"temperature":       "How far phrases stray from the voice's own way.",
		"top_p":             "Keeps only the likeliest deviations that together have this probability.",
		"top_k":             "Keeps only so many of the likeliest deviations; 0 keeps all.",
		"expressive":        "How wide the intonation is: 0 is monotone, 1 the voice's own.",
		"conversational":    "As people talk to each other.",
		"quality":           "How finely delivery varies: 0 by segments, 1 by sentences, 2 by clauses.",
		"solver":            "How a phrase follows the ones before: `euler`, `midpoint`, `heun`, `rk4` or `dopri5`.",
		"debug":             "Also saves the result as a clip, whose id is in `x-clip-id`. With a session every result is saved.",
		"return_durations":  "Adds the word times to a reply in JSON.",
		"return_timestamps": "Adds the word times to a reply in JSON. With audio alone, `x-timestamps-url` is their address.",
		"delay_headers":     "Sends the headers only when there is audio, so that a failure until then is a status.",
		"original_text":     "What `text` is a translation of: shown with the clip that `debug` saves.",
		"original_language": "The language of `original_text`: shown with the clip that `debug` saves.",
		"X-API-Key":         "The API key. Without one, the header `x-api-key` or the cookie of the handshake counts.",
		"send_extras":       "Adds the word times, in version 1.0.",
		"extras":            "`alignment` adds the word times.",
	}
}
