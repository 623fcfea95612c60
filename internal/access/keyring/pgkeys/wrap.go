package pgkeys

import (
	"bytes"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
)

// draw creates a key for an account and wraps it. The account is authenticated, so that a key that was
// moved to another row opens nothing.
func (k *Keyring) draw(account string, template *tinkpb.KeyTemplate) ([]byte, error) {
	handle, err := keyset.NewHandle(template)
	if err != nil {
		return nil, fmt.Errorf("drawing an account's key: %w", err)
	}
	var wrapped bytes.Buffer
	if err := handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&wrapped), k.master, []byte(account)); err != nil {
		return nil, fmt.Errorf("wrapping an account's key: %w", err)
	}
	return wrapped.Bytes(), nil
}

func (k *Keyring) unwrap(account string, wrapped []byte) (*keyset.Handle, error) {
	handle, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(wrapped)), k.master,
		[]byte(account))
	if err != nil {
		return nil, fmt.Errorf("unwrapping an account's key: the master key does not fit, or the row was altered: %w", err)
	}
	return handle, nil
}
