// Package signin is the relying party's side of sign-in: it sends a browser to an identity provider and takes back whom
// the provider knows. The flow is here; its adapters are the subpackages: openid speaks to providers, and devidp is one
// for development.
package signin

// Person is somebody as an identity provider knows them. Issuer and Subject together identify the person; an e-mail
// address never does.
type Person struct {
	Issuer  string
	Subject string
	Name    string
	Email   string
	Picture string // an https URL, "" for none
}
