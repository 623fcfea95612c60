// Package architecture_test checks rules of the code as a whole: which packages may import which, and the form of
// messages to clients.
package architecture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/recital-tts/recital/"

// goPackage is go list's description of a package of this module. Imports of tests are not included.
type goPackage struct {
	ImportPath string
	Name       string
	Imports    []string
	CgoFiles   []string
}

// path returns the package's folder.
func (p goPackage) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// ours returns the imports from this module, as folders.
func (p goPackage) ours() []string {
	var folders []string
	for _, path := range p.Imports {
		if folder, ok := strings.CutPrefix(path, module); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// others returns the imports of libraries.
func (p goPackage) others() []string {
	var libraries []string
	for _, path := range p.Imports {
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(path, module) {
			libraries = append(libraries, path)
		}
	}
	return libraries
}

// packages returns all packages of this module, including those that link C.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Name,Imports,CgoFiles", module+"...")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	var problems bytes.Buffer
	list.Stderr = &problems
	output, err := list.Output()
	require.NoError(t, err, problems.String())

	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// within reports whether a path is one of the folders, or below one of them.
func within(path string, folders ...string) bool {
	for _, folder := range folders {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}
