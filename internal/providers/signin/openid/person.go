package openid

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/recital-tts/recital/internal/providers/signin"
)

// Limits of the fields of a profile.
const (
	maxSubject = 255 // ASCII characters (OpenID Connect Core 1.0, 2)
	maxName    = 200 // characters; a longer name is cut
	maxEmail   = 254 // bytes (RFC 5321, 4.5.3.1.3, without the angle brackets)
	maxPicture = 2083
)

// profile is the part of the claims that is used (OpenID Connect Core 1.0, 5.1).
type profile struct {
	Name       string   `json:"name"`
	GivenName  string   `json:"given_name"`
	FamilyName string   `json:"family_name"`
	Email      string   `json:"email"`
	Verified   verified `json:"email_verified"`
	Picture    string   `json:"picture"`
}

// verified is false only where the provider says so: in many providers' answers the claim is missing, and in some it is
// a string.
type verified struct{ not bool }

// UnmarshalJSON implements json.Unmarshaler.
func (v *verified) UnmarshalJSON(data []byte) error {
	v.not = strings.Trim(strings.ToLower(string(data)), `"`) == "false"
	return nil
}

var _ json.Unmarshaler = (*verified)(nil)

// person returns the person of the ID token. Missing fields come from the user info.
func (p *Provider) person(
	ctx context.Context, d *discovery, id *oidc.IDToken, tokens *oauth2.Token,
) (signin.Person, error) {
	var claims profile
	if err := id.Claims(&claims); err != nil {
		return signin.Person{}, signin.Fail(signin.InvalidAnswer, "the ID token cannot be read")
	}
	person := claims.person()
	if (person.Name == "" || person.Email == "") && d.provider.UserInfoEndpoint() != "" {
		more, err := askUserInfo(ctx, d, id.Subject, tokens)
		if err != nil {
			return signin.Person{}, err
		}
		claims = claims.completedBy(more)
		person = claims.person()
	}
	switch {
	case person.Name == "" || person.Email == "":
		return signin.Person{}, signin.Fail(signin.NoProfile, "no name or no e-mail address")
	case claims.Verified.not:
		return signin.Person{}, signin.Fail(signin.EmailUnverified, "the e-mail address is not verified")
	}
	person.Issuer, person.Subject = p.config.Issuer, id.Subject
	return person, nil
}

// askUserInfo returns the claims of the user info endpoint, once it is certain that they are about the same person
// (OpenID Connect Core 1.0, 5.3.4).
func askUserInfo(ctx context.Context, d *discovery, subject string, tokens *oauth2.Token) (profile, error) {
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if isNetwork(err) {
		return profile{}, signin.Fail(signin.Unavailable, "the user info endpoint does not answer")
	}
	if err != nil {
		return profile{}, signin.Fail(signin.NoProfile, "the user info endpoint has refused, or its answer cannot be read")
	}
	if info.Subject != subject {
		return profile{}, signin.Fail(signin.InvalidAnswer, "the user info is about somebody else")
	}
	var claims profile
	if err := info.Claims(&claims); err != nil {
		return profile{}, signin.Fail(signin.InvalidAnswer, "the user info cannot be read")
	}
	return claims, nil
}

// completedBy returns the claims with what others add. An e-mail address keeps its own verification.
func (c profile) completedBy(more profile) profile {
	if c.Name == "" && c.GivenName == "" && c.FamilyName == "" {
		c.Name, c.GivenName, c.FamilyName = more.Name, more.GivenName, more.FamilyName
	}
	if c.Email == "" {
		c.Email, c.Verified = more.Email, more.Verified
	}
	if c.Picture == "" {
		c.Picture = more.Picture
	}
	return c
}

func (c profile) person() signin.Person {
	name := clean(c.Name)
	if name == "" {
		name = clean(c.GivenName + " " + c.FamilyName)
	}
	person := signin.Person{Name: name}
	if validEmail(c.Email) {
		person.Email = c.Email
	}
	if validPicture(c.Picture) {
		person.Picture = c.Picture
	}
	return person
}

// clean returns a text of one line.
func clean(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return ' '
		}
		if !unicode.IsGraphic(c) || c == utf8.RuneError {
			return -1
		}
		return c
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if characters := []rune(text); len(characters) > maxName {
		text = string(characters[:maxName])
	}
	return text
}

// validEmail reports whether a text can be an e-mail address. Whether mail arrives is the provider's to say.
func validEmail(text string) bool {
	local, host, found := strings.Cut(text, "@")
	return found && local != "" && host != "" && len(text) <= maxEmail && utf8.ValidString(text) &&
		!strings.Contains(host, "@") &&
		!strings.ContainsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsGraphic(c) })
}

func validPicture(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && len(text) <= maxPicture
}

func validSubject(text string) bool {
	return text != "" && len(text) <= maxSubject &&
		!strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' })
}
