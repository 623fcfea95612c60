// Package links builds the absolute URLs in replies. A signed URL gives access to its target without an API key.
package links

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
)

// Links builds URLs below one base, and signs them with one key.
type Links struct {
	base string
	key  []byte
}

// New returns the links below a public URL. If it is empty, they are below the host that the client used, over HTTP.
func New(publicURL string, key []byte) Links {
	return Links{base: strings.TrimRight(publicURL, "/"), key: key}
}

// Base returns the public URL without a trailing slash, or "".
func (l Links) Base() string { return l.base }

// To returns the URL of a path, for a client that used a host.
func (l Links) To(host, path string) string {
	if l.base != "" {
		return l.base + path
	}
	return (&url.URL{Scheme: "http", Host: host}).String() + path
}

// Purpose is the permission that a signature grants. It is signed together with an id, so that a signature for one
// purpose is invalid for another.
type Purpose string

// Signed returns the URL of a path with a signature, for the parameter sig of its route.
func (l Links) Signed(host, path string, purpose Purpose, id string) string {
	return l.To(host, path) + "?sig=" + l.sign(purpose, id)
}

// Verify reports whether a signature is valid for a purpose and an id.
func (l Links) Verify(purpose Purpose, id, signature string) bool {
	return hmac.Equal([]byte(l.sign(purpose, id)), []byte(signature))
}

// signatureSize is the length of the truncated HMAC, in bytes.
const signatureSize = 16

func (l Links) sign(purpose Purpose, id string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(string(purpose) + " " + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:signatureSize])
}

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
