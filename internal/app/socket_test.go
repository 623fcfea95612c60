package app

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSocketPathFitsIntoItsAddress(t *testing.T) {
	folder := func(t *testing.T, length int) string {
		base, err := os.MkdirTemp("", "")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
		dir := base + "/" + strings.Repeat("d", length-len(base)-1)
		require.NoError(t, os.Mkdir(dir, 0o700))
		return dir
	}
	const longest = maxSocketPath - len("/node.sock")
	for _, c := range []struct {
		name   string
		length int
		inside bool
	}{
		{"short", 40, true},
		{"just fits", longest, true},
		{"a byte too long", longest + 1, false},
		{"far too long", 200, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, c.length)
			path, remove, err := socketPath(dir)
			require.NoError(t, err)
			assert.Equal(t, c.inside, filepath.Dir(path) == dir)
			if !c.inside {
				info, err := os.Stat(filepath.Dir(path))
				require.NoError(t, err)
				assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), "others could reach the socket")
			}

			listener, err := net.Listen("unix", path) // the system decides which lengths are valid
			require.NoError(t, err)
			require.NoError(t, listener.Close())

			require.NoError(t, remove())
			_, err = os.Stat(filepath.Dir(path))
			assert.Equal(t, c.inside, err == nil, "only a temporary folder is removed")
		})
	}
}
