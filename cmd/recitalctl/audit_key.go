package main

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/process/datafolder"
)

type auditDeriveKey struct {
	SigningKeyFile string `arg:"" name:"signing-key-file" help:"File of the signing key of the installation."`
	AuditKeyFile   string `arg:"" name:"audit-key-file" help:"File that gets the audit key. It must not be there yet."`
}

// Help is shown below the arguments.
func (*auditDeriveKey) Help() string {
	return `Mode prod needs a file of the audit key (RECITAL_AUDIT_KEY_FILE). Earlier releases derived the key from the signing key where
none was set. This writes that key into a file, so that the heads that it has signed go on to hold. A new installation draws a
key instead: openssl rand -hex 32.

Example:
  recitalctl audit derive-key /etc/recital/secrets/signing-key /etc/recital/secrets/audit-key`
}

// Run writes the key.
func (c *auditDeriveKey) Run(to terminal) error {
	signing, err := datafolder.ReadKey("signing key", c.SigningKeyFile)
	if err != nil {
		return err
	}
	seed, err := chain.FormerSeed(signing)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(c.AuditKeyFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing the audit key: %w", err)
	}
	_, err = fmt.Fprintln(file, hex.EncodeToString(seed))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing the audit key: %w", err)
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	_, err = fmt.Fprintf(to.out, "The audit key is in %s. Its public key is %x: write it down\n", c.AuditKeyFile, public)
	return err
}
