package readapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
)

// Links makes the addresses that replies hold.
type Links struct {
	Base string // the public address without a slash at its end; "" takes the host that the client asked, over HTTP
	Key  []byte // of the signatures
}

// What links lead to. It is part of what is signed, so that a link to one is none to another.
const (
	clipAudio  = "clip audio"
	timestamps = "timestamps"
)

// ClipAudio is where a clip's audio is, for whoever has the address.
func (l Links) ClipAudio(host, clip string) string {
	return l.base(host) + "/v1/account/clip/" + clip + "/audio?sig=" + l.sign(clipAudio, clip)
}

// Timestamps is where the word times of a reply are, for whoever has the address.
func (l Links) Timestamps(host, id string) string {
	return l.base(host) + "/v1/ai/speech/timestamps/" + id + "?sig=" + l.sign(timestamps, id)
}

func (l Links) base(host string) string {
	if l.Base != "" {
		return l.Base
	}
	return (&url.URL{Scheme: "http", Host: host}).String()
}

// VerifyClipAudio reports whether a signature is that of a clip's address.
func (l Links) VerifyClipAudio(clip, signature string) bool {
	return l.signed(clipAudio, clip, signature)
}

// VerifyTimestamps reports whether a signature is that of the address of word times.
func (l Links) VerifyTimestamps(id, signature string) bool {
	return l.signed(timestamps, id, signature)
}

func (l Links) signed(what, id, signature string) bool {
	return hmac.Equal([]byte(l.sign(what, id)), []byte(signature))
}

func (l Links) sign(what, id string) string {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte(what + " " + id))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
