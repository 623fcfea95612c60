package pgkeys

import (
	"context"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/prf"
)

// fingerprints is in the place of an account: its row holds the key of fingerprints. Ids of accounts are longer, or
// "operator".
const fingerprints = "fingerprints"

// fingerprintSize is that of an HMAC-SHA256 in bytes.
const fingerprintSize = 32

// Fingerprint implements keyring.Fingerprinter. The key is read once: it never changes, and is never erased.
func (k *Keyring) Fingerprint(ctx context.Context, data []byte, use string) ([]byte, error) {
	key := k.prints.Load()
	if key == nil {
		var err error
		if key, err = k.readPrints(ctx); err != nil {
			return nil, fmt.Errorf("taking a fingerprint: %w", err)
		}
		k.prints.Store(key)
	}
	print, err := key.ComputePrimaryPRF(append([]byte(use+"\n"), data...), fingerprintSize)
	if err != nil {
		return nil, fmt.Errorf("taking a fingerprint: %w", err)
	}
	return print, nil
}

func (k *Keyring) readPrints(ctx context.Context) (*prf.Set, error) {
	handle, err := k.readOrDraw(ctx, fingerprints, prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, err
	}
	return prf.NewPRFSet(handle)
}
