package memkeys_test

import (
	"testing"

	"github.com/recital-tts/recital/internal/access/keyring/keyringtest"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
)

func TestContract(t *testing.T) {
	keyringtest.Run(t, func(*testing.T) keyringtest.Keyring { return memkeys.New() })
}
