package links

// Targets of signed links. The texts are signed: existing links must continue to work.
const (
	ClipAudio    Purpose = "clip audio"
	WordTimes    Purpose = "timestamps"
	VoicePreview Purpose = "voice preview"
)

// ClipAudio returns the URL of a clip's audio.
func (l Links) ClipAudio(host, clip string) string {
	return l.Signed(host, "/v1/account/clip/"+clip+"/audio", ClipAudio, clip)
}

// WordTimes returns the URL of the word times of a reply.
func (l Links) WordTimes(host, id string) string {
	return l.Signed(host, "/v1/ai/speech/timestamps/"+id, WordTimes, id)
}

// VoicePreview returns the URL of the preview of a system voice, which is public.
func (l Links) VoicePreview(host, voice string) string { return l.To(host, previewPath(voice)) }

// OwnedVoicePreview returns the URL of the preview of an account's voice.
func (l Links) OwnedVoicePreview(host, voice string) string {
	return l.Signed(host, previewPath(voice), VoicePreview, voice)
}

func previewPath(voice string) string { return "/v1/ai/voice/" + voice + "/preview" }
