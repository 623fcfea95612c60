package account_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
)

func TestADrawnKeyIsWellFormedAndShownMasked(t *testing.T) {
	key, err := account.DrawAPIKey(rand.Reader)
	require.NoError(t, err)
	require.Regexp(t, `^rk_[0-9A-Za-z]{36}$`, key)
	require.True(t, account.WellFormedAPIKey(key))

	masked := account.MaskAPIKey(key)
	require.Equal(t, key[:7]+"****"+key[35:], masked)
	require.Len(t, account.HashAPIKey(key), 64)

	other, err := account.DrawAPIKey(rand.Reader)
	require.NoError(t, err)
	require.NotEqual(t, key, other)
}

func TestAMistypedKeyIsNotWellFormed(t *testing.T) {
	key, err := account.DrawAPIKey(strings.NewReader(strings.Repeat("speech synthesis", 8)))
	require.NoError(t, err)
	for i := range key {
		typo := []byte(key)
		typo[i] = 'x'
		if string(typo) != key {
			require.False(t, account.WellFormedAPIKey(string(typo)))
		}
	}
	require.False(t, account.WellFormedAPIKey(""))
	require.False(t, account.WellFormedAPIKey(key+"0"))
}

func TestNoKeyWithoutRandomness(t *testing.T) {
	_, err := account.DrawAPIKey(strings.NewReader("short"))
	require.Error(t, err)
}
