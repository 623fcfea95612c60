package main_test

import "strings"

// These constants describe how to point clients to Recital.
const (
	fixedHost      = "its host is fixed, see above"
	fixedSocket    = "`baseURL` for HTTP; the host of its sockets is fixed, see above"
	pythonSocket   = "`Lmnt(api_key=…, base_url=\"https://HOST\")` for HTTP; the host of its sockets is fixed, see above"
	python         = "`Lmnt(api_key=…, base_url=\"https://HOST\")`, or the variable `LMNT_BASE_URL`"
	oldPython      = "`Speech(key, base_url=\"https://HOST\")`"
	oldNode        = "`new Speech(key, 'https://HOST')` for HTTP; the host of its sockets is fixed, see above"
	nodeOfLMNT     = "`new Lmnt({ apiKey, baseURL: 'https://HOST' })`"
	pythonOfOpenAI = "`OpenAI(api_key=…, base_url=\"https://HOST/v1\")`"
	sdkOfOpenAI    = "`createOpenAI({ apiKey, baseURL: 'https://HOST/v1' })`"
	nodeOfOpenAI   = "`new OpenAI({ apiKey, baseURL: 'https://HOST/v1' })`"
)

// publishedClients are the first and last versions of each major version in their registries.
var publishedClients = []publishedClient{
	{name: "lmnt-node", registry: npm, version: "0.0.2", fixed: true, script: "v0.mjs", pointing: fixedHost,
		answer: `{"voices": 9, "whole": "RIFF", "streamed": true}`,
		said:   []string{"Hello from version zero.", "This is streamed."}},
	{name: "lmnt-node", registry: npm, version: "1.2.0", fixed: true, script: "v1.mjs", pointing: oldNode,
		answer: answerOfV1, said: saidByV1},
	{name: "lmnt-node", registry: npm, version: "1.2.3", fixed: true, script: "v1.mjs", pointing: oldNode,
		answer: answerOfV1, said: saidByV1},
	{name: "lmnt-node", registry: npm, version: "2.3.0", fixed: true, script: "v2.mjs", pointing: fixedSocket,
		answer: answerOfV2, said: saidByV2},
	{name: "lmnt-node", registry: npm, version: "2.11.2", fixed: true, script: "v2.mjs", pointing: fixedSocket,
		answer: answerOfV2, said: saidByV2},
	{name: "lmnt-node", registry: npm, version: "2.12.0", script: "v2.12.mjs", pointing: nodeOfLMNT,
		answer: answerOfV212, said: append([]string{"Hello again."}, saidByV2...)},
	{name: "lmnt", registry: pypi, version: "0.2.1", script: "lmnt_v0.py", pointing: oldPython,
		answer: `{"voices": 9, "whole": "RIFF", "streamed": true,
			"unknownVoice": "SpeechError [status=404] There is no such voice"}`,
		said: []string{"Hello from version zero.", "This is streamed."}},
	{name: "lmnt", registry: pypi, version: "1.2.0", script: "lmnt_v1.py", pointing: oldPython,
		answer: answerOfPythonV1, said: saidByPythonV1},
	{name: "lmnt", registry: pypi, version: "2.5.1", fixed: true, script: "lmnt_v2.py", pointing: pythonSocket,
		answer: answerOfPython(""), said: saidByPythonV2},
	{name: "lmnt", registry: pypi, version: "2.6.1", script: "lmnt_v2.py", pointing: python,
		answer: answerOfPython(" invalid_request_error"), said: saidByPythonV2},
	{name: "lmnt", registry: pypi, version: "2.13.0", script: "lmnt_v2.py", pointing: python,
		answer: answerOfPython(" invalid_request_error"), said: saidByPythonV2},
	{name: "@ai-sdk/lmnt", registry: npm, version: "1.0.27", beside: []string{"ai@5.0.277"}, fixed: true,
		script: "ai-sdk.mjs", pointing: "`createLMNT({ apiKey })`; its host is fixed, see above",
		answer: answerOfAISDK, said: saidByAISDK},
	{name: "@ai-sdk/lmnt", registry: npm, version: "2.0.56", beside: []string{"ai@6.0.326"}, fixed: true,
		script: "ai-sdk.mjs", pointing: "`createLMNT({ apiKey })`; its host is fixed, see above",
		answer: answerOfAISDK, said: saidByAISDK},
	{name: "@ai-sdk/lmnt", registry: npm, version: "3.0.36", beside: []string{"ai@7.0.173"}, node22: true, fixed: true,
		script: "ai-sdk.mjs", pointing: "`createLMNT({ apiKey })`; its host is fixed, see above",
		answer: answerOfAISDK, said: saidByAISDK},
	{name: "livekit-plugins-lmnt", registry: pypi, version: "1.8.9", fixed: true, script: "lmnt_livekit.py",
		pointing: "`lmnt.TTS(api_key=…)`; its host is fixed, see above",
		answer: `{"mp3": {"sound": true, "shape": [[24000, 1]]}, "wav": {"sound": true, "shape": [[16000, 1]]},
			"key": "APIStatusError 401", "voice": "APIStatusError 404"}`,
		said: []string{helloFromLiveKit, helloFromLiveKit}},
	{name: "pipecat-ai", plugin: "LMNT", registry: pypi, version: "1.9.0",
		beside: []string{"pipecat-ai[lmnt]==1.9.0"}, fixed: true, script: "lmnt_pipecat.py",
		pointing: "`LmntTTSService(api_key=…)`; its host is fixed, see above",
		answer: `{"spoken": {"sound": true, "errors": []}, "key": "Error: Invalid API key",
			"voice": "Error: There is no such voice"}`,
		said: saidByPipecat},
	{name: "videosdk-plugins-lmnt", registry: pypi, version: "1.0.30", fixed: true, script: "lmnt_videosdk.py",
		pointing: "`LMNTTTS(api_key=…, ws_url=\"wss://HOST/v1/ai/speech/stream\")`",
		answer: `{"whole": {"sound": true, "errors": []}, "pieces": {"sound": true, "errors": []},
			"key": {"sound": false, "errors": ["LMNT server error: Invalid API key"]},
			"voice": {"sound": false, "errors": ["LMNT server error: There is no such voice"]}}`,
		said: []string{"Hello from VideoSDK.", "Sent in pieces. And more."}},
	{name: "genblaze-lmnt", registry: pypi, version: "0.3.3", script: "lmnt_genblaze.py",
		pointing: "`https://HOST` in the variable `LMNT_BASE_URL`",
		answer: `{"mp3": {"type": "audio/mpeg", "sound": true, "words": "Hello from another library."},
			"wav": {"type": "audio/wav", "sound": true, "words": "Hello from another library."},
			"key": "auth_failure", "voice": "unknown"}`,
		said: []string{"Hello from another library.", "Hello from another library."}},
	{name: "openai", registry: npm, version: "4.104.0", script: "openai.mjs", pointing: nodeOfOpenAI,
		answer: answerOfOpenAI + "}", said: saidByOpenAI},
	{name: "openai", registry: npm, version: "5.23.2", script: "openai.mjs", pointing: nodeOfOpenAI,
		answer: answerOfOpenAI + "}", said: saidByOpenAI},
	{name: "openai", registry: npm, version: "6.49.0", script: "openai.mjs", pointing: nodeOfOpenAI,
		answer: answerOfOpenAI + "}", said: saidByOpenAI},
	{name: "openai", registry: npm, version: "7.57.0", node22: true, script: "openai.mjs", pointing: nodeOfOpenAI,
		answer: answerOfOpenAI + "}", said: saidByOpenAI},
	{name: "openai", registry: pypi, version: "3.57.0", script: "openai_package.py", pointing: pythonOfOpenAI,
		answer: answerOfOpenAIInPython, said: saidByOpenAIInPython},
	{name: "@ai-sdk/openai", registry: npm, version: "2.0.131", beside: []string{"ai@5.0.277"},
		script: "openai_ai_sdk.mjs", pointing: sdkOfOpenAI, answer: answerOfOpenAISDK, said: saidByOpenAISDK},
	{name: "@ai-sdk/openai", registry: npm, version: "3.0.141", beside: []string{"ai@6.0.326"},
		script: "openai_ai_sdk.mjs", pointing: sdkOfOpenAI, answer: answerOfOpenAISDK, said: saidByOpenAISDK},
	{name: "@ai-sdk/openai", registry: npm, version: "4.0.118", beside: []string{"ai@7.0.173"}, node22: true,
		script: "openai_ai_sdk.mjs", pointing: sdkOfOpenAI, answer: answerOfOpenAISDK, said: saidByOpenAISDK},
	{name: "livekit-plugins-openai", registry: pypi, version: "1.8.9", script: "openai_livekit.py",
		pointing: "`openai.TTS(api_key=…, base_url=\"https://HOST/v1\")`",
		answer:   `{"events": "24000 True", "audio": "24000 True", "no voice": 404}`,
		said:     []string{helloFromLiveKit, "And once more."}},
	{name: "pipecat-ai", plugin: "OpenAI", registry: pypi, version: "1.14.0",
		beside: []string{"pipecat-ai[openai]==1.14.0"},
		script: "openai_pipecat.py", pointing: "`OpenAITTSService(api_key=…, base_url=\"https://HOST/v1\")`",
		answer: `{"sound": true}`, said: []string{"Hello from Pipecat."}},
}

const (
	helloFromLiveKit  = "Hello from LiveKit."
	answerOfOpenAISDK = `{"mp3": "audio/mpeg true 0", "opus": "audio/ogg true 0", "wav": "audio/wav true 0",
		"error": "404 There is no such voice"}`
	answerOfOpenAIInPython = answerOfOpenAI + `, "asynchronous": true}`
	answerOfAISDK          = `{"type": "audio/mpeg", "sound": true, "warnings": 0}`
	answerOfV212           = `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF", "words": "Hello again.",
		"streamed": {"sound": true, "words": "", "flushes": 1, "named": true},
		"streamedWithWords": {"sound": true, "words": "This is streamed. And more.", "flushes": 1, "named": true},
		"ownVoice": {"state": "ready", "owner": "me", "name": "Renamed", "shown": "Renamed", "starred": 1,
			"all": 10, "said": "RIFF",
			"streamed": {"sound": true, "words": "", "flushes": 1, "named": true}, "deleted": true,
			"gone": "NotFoundError 404 not_found_error"},
		"unknownVoice": "NotFoundError 404 not_found_error"}`
	answerOfPythonV1 = `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF", "seed": 7, "words": "Hello from version one.",
		"ownVoice": {"state": "ready", "name": "Renamed", "shown": "Renamed", "starred": 1, "said": "RIFF", "deleted": true,
			"gone": "SpeechError [status=404] [Speech.synthesize]: There is no such voice"},
		"streamed": "", "streamedWithWords": "This is streamed. And more.",
		"streamedByNobody": "StreamError: There is no such voice",
		"errors": {"key": "SpeechError [status=401] [Speech.account_info]: Invalid API key",
			"voice": "SpeechError [status=404] [Speech.synthesize]: There is no such voice"}}`
)

var (
	saidByOpenAISDK      = []string{strings.Repeat("Hello from the SDK.", 3)}
	saidByOpenAIInPython = append([]string{"Not at once."}, saidByOpenAI...)
	saidByPipecat        = []string{"Hello from Pipecat.", "And once more."}
	saidByAISDK          = []string{"Hello from another client."}
	saidByPythonV1       = []string{"Hello from version one.", "With my voice.", "This is streamed. And more.",
		"This is streamed. And more."}
	saidByPythonV2 = []string{"Hello from version two.", "Hello again.", "In pieces. And more.", "With my voice.",
		"Not at once.", "This is streamed. And more.", "This is streamed. And more."}
)

// answerOfPython returns the output of version 2 of the Python package. From 2.6 on, errors have a type.
func answerOfPython(invalid string) string {
	kind := func(name string) string {
		if invalid == "" {
			return ""
		}
		return " " + name
	}
	return `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF", "words": "Hello again.", "pieces": true,
		"ownVoice": {"state": "ready", "name": "Renamed", "shown": "Renamed", "starred": 1, "said": "RIFF", "deleted": true,
			"gone": "NotFoundError 404` + kind("not_found_error") + ` 1"},
		"errors": {"key": "AuthenticationError 401` + kind("authentication_error") + ` 1",
			"voice": "NotFoundError 404` + kind("not_found_error") + ` 1",
			"input": "UnprocessableEntityError 422` + invalid + ` 1",
			"permission": "PermissionDeniedError 403` + kind("permission_error") + ` 1",
			"quota": "APIStatusError 402` + kind("payment_required_error") + ` 1"},
		"retried": ["RateLimitError 429` + kind("rate_limit_error") + ` 2", 200],
		"asynchronous": {"voices": 9, "plan": "pro", "sound": true, "upload": "me", "deleted": true,
			"unknownVoice": "NotFoundError 404` + kind("not_found_error") + ` 1",
			"streamed": {"sound": true, "words": "", "flushes": 1, "errors": []},
			"streamedWithWords": {"sound": true, "words": "This is streamed. And more.", "flushes": 1, "errors": []},
			"streamedByNobody": {"sound": false, "words": "", "flushes": 0, "errors": ["There is no such voice"]},
			"reset": true}}`
}

const (
	answerOfV1 = `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF", "seed": 7, "words": "Hello from version one.",
		"ownVoice": {"state": "ready", "owner": "me", "name": "Renamed", "shown": "Renamed", "starred": 1,
			"all": 10, "said": "RIFF",
			"streamed": "", "deleted": true, "gone": "[synthesize] There is no such voice"},
		"streamed": "", "streamedWithWords": "This is streamed. And more.",
		"unknownVoice": "[synthesize] There is no such voice"}`
	answerOfV2 = `{
		"voices": 9, "voice": "Zeke", "plan": "pro", "whole": "RIFF",
		"ownVoice": {"state": "ready", "owner": "me", "name": "Renamed", "shown": "Renamed", "starred": 1,
			"all": 10, "said": "RIFF",
			"streamed": "", "deleted": true, "gone": "NotFoundError 404"},
		"streamed": "", "streamedWithWords": "This is streamed. And more.", "unknownVoice": "NotFoundError 404"}`
)

var (
	saidByV1 = append([]string{"Hello from version one."}, saidByBoth...)
	saidByV2 = append([]string{"Hello from version two."}, saidByBoth...)
	// saidByBoth is streamed without and with words, and by the client's own voice.
	saidByBoth = []string{"This is streamed. And more.", "This is streamed. And more.", "With my voice.",
		"This is streamed. And more."}
)
