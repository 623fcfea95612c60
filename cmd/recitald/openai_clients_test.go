package main_test

import "strings"

// answerOfOpenAI is the output with OpenAI's own packages. An error is printed as class, status, type, code, param and
// number of attempts.
const answerOfOpenAI = `{
	"models": ["aurora", "blizzard", "blizzard-2.0", "blizzard-2.1", "blizzard-dialogue"],
	"formats": {"mp3": "audio/mpeg true", "opus": "audio/ogg true", "aac": "audio/aac true", "flac": "audio/flac true",
		"wav": "audio/wav true", "pcm": "audio/pcm true"},
	"streamed": true,
	"events": {"types": ["speech.audio.delta", "speech.audio.done"], "sound": true, "tokens": 17},
	"warned": "model: it is unknown, and aurora speaks; instructions: they are ignored; speed: it is limited to 2",
	"errors": {
		"key": "AuthenticationError 401 invalid_request_error invalid_api_key  1",
		"voice": "NotFoundError 404 invalid_request_error   1",
		"input": "BadRequestError 400 invalid_request_error string_below_min_length input 1",
		"format": "BadRequestError 400 invalid_request_error invalid_value response_format 1",
		"quota": "RateLimitError 429 insufficient_quota insufficient_quota  1"},
	"retried": [429, 200]
`

// saidByOpenAI are the texts that are charged to the account.
var saidByOpenAI = []string{
	strings.Repeat("Hello from OpenAI.", 6), "This is streamed. And more. And still more.", "These are events.", "Faster.",
}
