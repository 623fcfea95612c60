package app

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// secretSize is that of the master key and of the signing key, in bytes.
const secretSize = 32

// secrets are the keys that all instances share.
type secrets struct {
	master    []byte // wraps the accounts' keys
	links     []byte // signs links; derived from the signing key, as the next one
	addresses []byte // of the blobs
}

// readSecrets finds both keys. It comes before anything is opened that a refusal would leave changed.
func (a *App) readSecrets(context.Context) (err error) {
	if a.secrets.master, err = a.secretKey("master-key", a.cfg.MasterKeyFile); err != nil {
		return err
	}
	signing, err := a.secretKey("signing-key", a.cfg.SigningKeyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(a.secrets.master, signing) {
		return errors.New("the master key and the signing key are the same; each needs a value of its own")
	}
	if a.secrets.links, err = derive(signing, "links"); err != nil {
		return err
	}
	a.secrets.addresses, err = derive(signing, "blob addresses")
	return err
}

// secretKey is that of the configured file, or of the data folder.
func (a *App) secretKey(name, configured string) ([]byte, error) {
	text, path, err := a.secretText(name, configured)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != secretSize { // the error of hex quotes what it read
		return nil, fmt.Errorf("%s holds no key: %d hex digits are needed, such as those that openssl rand -hex %d prints", path, 2*secretSize, secretSize)
	}
	return key, nil
}

// secretText is what the configured file holds, which is never written, or the file of the data folder, drawn at the first
// start.
func (a *App) secretText(name, configured string) (text, path string, err error) {
	if configured == "" {
		text, err = a.fileOnce(name, drawSecret)
		return text, a.cfg.path(name), err
	}
	content, err := os.ReadFile(configured)
	if err != nil {
		return "", "", fmt.Errorf("reading the %s: %w", name, err)
	}
	return strings.TrimSpace(string(content)), configured, nil
}

func drawSecret() (string, error) {
	key := make([]byte, secretSize)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	return hex.EncodeToString(key), nil
}

// derive makes a key for one purpose (HKDF-SHA-256, RFC 5869).
func derive(secret []byte, purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "recital "+purpose, secretSize)
	if err != nil {
		return nil, fmt.Errorf("deriving the key for %s: %w", purpose, err)
	}
	return key, nil
}
