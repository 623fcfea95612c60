package audio

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Data that is not a WebM stream stays unchanged, and only the start of a WebM stream changes.
func FuzzFinishWebM(f *testing.F) {
	stream := []byte("\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff\xec" +
		"\x01\x00\x00\x00\x00\x00\x00\x10" +
		"................\x15\x49\xa9\x66\x84\x4d\x80\x81L\x1f\x43\xb6\x75\xff\xe7\x81\x05\xa3\x85\x81\x00\x10\x80x")
	f.Add(stream)
	f.Add([]byte("RIFF"))
	f.Fuzz(func(t *testing.T, content []byte) {
		head, err := finishWebM(bytes.NewReader(content), int64(len(content)))
		require.NoError(t, err)
		require.LessOrEqual(t, len(head), min(len(content), webmHead))
	})
}
