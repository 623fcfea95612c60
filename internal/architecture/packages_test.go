// Package architecture_test checks rules of the code as a whole: which packages may import which, the form of
// messages to clients, and the container setup in deploy/compose.
package architecture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/recital-tts/recital/"

// goPackage is go list's description of a package of this module. Imports of tests are not included.
type goPackage struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string // direct and indirect imports
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
	all, err := goList()
	require.NoError(t, err)
	return all
}

// goList asks the go command once for all tests, because it takes long.
var goList = sync.OnceValues(func() (all []goPackage, err error) {
	list := exec.Command("go", "list", "-json=ImportPath,Name,Imports,Deps,CgoFiles", module+"...")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	var problems bytes.Buffer
	list.Stderr = &problems
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problems.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// linked returns the packages that a program contains, one on each line.
func linked(t *testing.T, program string) string {
	t.Helper()
	for _, p := range packages(t) {
		if p.path() == "cmd/"+program {
			return strings.Join(p.Deps, "\n") + "\n"
		}
	}
	require.Fail(t, "there is no such program", program)
	return ""
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
