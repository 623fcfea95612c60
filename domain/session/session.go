// Package session is the aggregate of the streams session-<id>: the session of a browser, from its sign-in to its end.
// The account's stream decides, too: a session ends with its account, and when the account revokes all sessions.
package session

import "time"

// StreamPrefix begins the names of the streams of sessions. The session's id follows it.
const StreamPrefix = "session-"

// Stream returns the name of a session's stream.
func Stream(id string) string { return StreamPrefix + id }

// DeviceSealedFor returns the purpose for which the label of a session's device is sealed.
func DeviceSealedFor(id string) string { return "session-device/" + id }

// AddressSealedFor returns the purpose for which the address of a session's client is sealed.
func AddressSealedFor(id string) string { return "session-address/" + id }

// Event is one of the events below.
type Event interface{ sessionEvent() }

// Opened begins a session. The secret itself is not stored, only its hash.
type Opened struct {
	Session    string `json:"session"`
	Account    string `json:"account"`
	SecretHash string `json:"secretHash"`        // as Cookie.Hash returns it
	Device     []byte `json:"device,omitempty"`  // the label of the client's device, sealed for DeviceSealedFor
	Address    []byte `json:"address,omitempty"` // the client's IP address, sealed for AddressSealedFor; for auditors
	Country    string `json:"country,omitempty"` // ISO 3166-1 alpha-2
	Provider   string `json:"provider"`          // of the identity
	// the page that uses the session is on another site than the service, so its cookie is SameSite=None
	CrossSite bool      `json:"crossSite,omitempty"`
	ExpiresAt time.Time `json:"expiresAt"` // independent of the session's use
	At        time.Time `json:"at"`
}

// Seen records that a session is in use. There is at most one per SeenEvery.
type Seen struct {
	Session string    `json:"session"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
}

// Rotated gives a session another secret. The former one stays valid for Overlap. The other fields repeat Opened, so
// that a load need not read older events.
type Rotated struct {
	Session    string    `json:"session"`
	Account    string    `json:"account"`
	SecretHash string    `json:"secretHash"`
	FormerHash string    `json:"formerHash"`
	CrossSite  bool      `json:"crossSite,omitempty"`
	OpenedAt   time.Time `json:"openedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	At         time.Time `json:"at"`
}

// Ended ends a session permanently.
type Ended struct {
	Session string    `json:"session"`
	Account string    `json:"account"`
	Reason  Reason    `json:"reason"`
	At      time.Time `json:"at"`
}

func (Opened) sessionEvent()  {}
func (Seen) sessionEvent()    {}
func (Rotated) sessionEvent() {}
func (Ended) sessionEvent()   {}

// Reason is the reason for the end of a session.
type Reason string

// The reasons.
const (
	SignedOut Reason = "signed-out" // by its own client
	Revoked   Reason = "revoked"    // by another credential of the account
	Expired   Reason = "expired"    // at its ExpiresAt
	Surplus   Reason = "surplus"    // the account had opened too many others
	Replayed  Reason = "replayed"   // a secret that was replaced long ago was used: two clients have the cookie
)
