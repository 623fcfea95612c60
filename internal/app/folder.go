package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/recital-tts/recital/internal/access/operators"
	"github.com/recital-tts/recital/internal/process/datafolder"
)

// secrets are the keys that all instances share.
type secrets struct {
	master      []byte             // wraps the accounts' keys
	links       []byte             // signs links; derived from the signing key, as the next ones
	generations []byte             // signs the ids of syntheses
	sandbox     []byte             // of the payment provider for development
	signIns     []byte             // seals what browsers keep of sign-ins
	audit       ed25519.PrivateKey // signs the heads of the audit chain
}

func (a *App) openFolder(context.Context) (err error) {
	if a.folder, err = datafolder.Open(a.cfg.DataDir); err != nil {
		return err
	}
	a.cfg.DataDir = a.folder.Dir()
	a.onClose("the data folder", a.folder.Close)
	return nil
}

// readTokens reads the tokens of the admin address. It comes before anything is opened that a refusal would leave
// changed.
func (a *App) readTokens(context.Context) (err error) {
	var files []operators.File
	for _, f := range []struct{ role, configured string }{
		{operators.Operator, a.cfg.OperatorTokenFile}, {operators.Auditor, a.cfg.AuditorTokenFile},
	} {
		text, path, err := a.folder.Secret(f.role+"-token", f.configured)
		if err != nil {
			return err
		}
		files = append(files, operators.File{Path: path, Role: f.role, Text: text})
	}
	a.tokens, err = operators.Parse(files...)
	return err
}

// readSecrets reads the keys. It comes before anything is opened that a refusal would leave changed.
func (a *App) readSecrets(context.Context) (err error) {
	if a.secrets.master, err = a.folder.Key("master-key", a.cfg.MasterKeyFile); err != nil {
		return err
	}
	signing, err := a.folder.Key("signing-key", a.cfg.SigningKeyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(a.secrets.master, signing) {
		return errors.New("the master key and the signing key are the same; each needs a value of its own")
	}
	if a.secrets.links, err = derive(signing, "links"); err != nil {
		return err
	}
	if a.secrets.generations, err = derive(signing, "ids of syntheses"); err != nil {
		return err
	}
	if a.secrets.sandbox, err = derive(signing, "payment sandbox"); err != nil {
		return err
	}
	if a.secrets.signIns, err = derive(signing, "sign-ins that have begun"); err != nil {
		return err
	}
	seed, err := a.folder.Key("audit-key", a.cfg.AuditKeyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(seed, signing) || bytes.Equal(seed, a.secrets.master) {
		return errors.New("the audit key is the master key or the signing key; each needs a value of its own")
	}
	a.secrets.audit = ed25519.NewKeyFromSeed(seed)
	return nil
}

// derive returns a key for one purpose (HKDF-SHA-256, RFC 5869).
func derive(secret []byte, purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "recital "+purpose, len(secret))
	if err != nil {
		return nil, fmt.Errorf("deriving the key for %s: %w", purpose, err)
	}
	return key, nil
}
