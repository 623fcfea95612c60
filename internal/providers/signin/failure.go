package signin

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/recital-tts/recital/domain"
)

// Reason says why a sign-in has failed, in the words of the parameter error of the redirect.
type Reason string

// The reasons. Those of RFC 6749, 4.1.2.1, keep their names.
const (
	AccessDenied Reason = "access_denied"           // the person, or the provider, has refused
	Unavailable  Reason = "temporarily_unavailable" // a required part does not answer; a later sign-in may succeed
	ServerError  Reason = "server_error"            // something is broken, here or at the provider
	// What the provider sent does not belong to this sign-in, or is not authentic.
	InvalidAnswer   Reason = "invalid_answer"
	NoProfile       Reason = "profile_incomplete" // the provider gives no name or no e-mail address
	EmailUnverified Reason = "email_unverified"   // the provider has not verified the e-mail address
	NotUnderWay     Reason = "not_under_way"      // ErrUnusable; no redirect is known that could say so
)

// Reasons returns all reasons, sorted.
func Reasons() []Reason { return slices.Sorted(maps.Keys(texts)) }

// texts are what a page can show.
var texts = map[Reason]string{
	AccessDenied:    "The sign-in was cancelled or refused",
	Unavailable:     "Signing in is not possible now; try again later",
	ServerError:     "The sign-in has failed",
	InvalidAnswer:   "The answer of the identity provider is not valid; begin again",
	NoProfile:       "The identity provider gives no name or no e-mail address",
	EmailUnverified: "The e-mail address is not verified at the identity provider",
	NotUnderWay:     "This sign-in has ended or expired, or was begun in another browser; begin again",
}

// Failure is a sign-in that has failed for a reason that the person may know. What holds no secrets and no personal
// data is in Detail, for the log.
type Failure struct {
	Reason Reason
	Detail string
}

// Error returns the reason and the detail.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Reason, f.Detail) }

// Fail returns a Failure.
func Fail(reason Reason, detail string) error { return &Failure{Reason: reason, Detail: detail} }

// ReasonOf returns the reason of an error that has ended a sign-in.
func ReasonOf(err error) Reason {
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return failure.Reason
	case errors.Is(err, ErrUnusable):
		return NotUnderWay
	case domain.CodeOf(err) == domain.Unavailable:
		return Unavailable
	}
	return ServerError
}

// Text returns what a page can show.
func (r Reason) Text() string { return texts[r] }

// WithReason returns a redirect that carries the reason why its sign-in has failed, as error and error_description.
func WithReason(redirect string, reason Reason) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return redirect // cannot be: it was admitted
	}
	query := u.Query()
	query.Set("error", string(reason))
	query.Set("error_description", reason.Text())
	u.RawQuery = query.Encode()
	return u.String()
}
