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

// ClipAudio is where a clip's audio is, for whoever has the address.
func (l Links) ClipAudio(host, clip string) string {
	base := l.Base
	if base == "" {
		base = (&url.URL{Scheme: "http", Host: host}).String()
	}
	return base + "/v1/account/clip/" + clip + "/audio?sig=" + l.sign(clip)
}

// Signed tells whether a signature is that of the clip's address.
func (l Links) Signed(clip, signature string) bool {
	return hmac.Equal([]byte(l.sign(clip)), []byte(signature))
}

func (l Links) sign(clip string) string {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte("clip audio " + clip))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
