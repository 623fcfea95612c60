package voicepack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// zipped returns a zip of files.
func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		head := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.kind == tar.TypeSymlink {
			head.SetMode(os.ModeSymlink | 0o777)
		}
		file, err := w.CreateHeader(head)
		require.NoError(t, err)
		_, err = file.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// unpacked unpacks an archive into a new folder.
func unpacked(t testing.TB, archive []byte) (folder string, err error) {
	t.Helper()
	folder = t.TempDir()
	return folder, voicepack.UnpackAny(bytes.NewReader(archive), int64(len(archive)), folder)
}

// filesIn returns the files of a package in a folder of an archive.
func filesIn(t *testing.T, folder, place string) (entries []entry) {
	t.Helper()
	for _, name := range []string{"voice.onnx", "manifest.json", "voice.onnx.json"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		entries = append(entries, entry{name: place + name, content: string(content)})
	}
	return entries
}

func TestArchivesAsPeopleMakeThem(t *testing.T) {
	from, _, sum := pack(t)
	top := filesIn(t, from, "")
	below := append([]entry{{name: "toy/", kind: tar.TypeDir}, {name: "toy/LICENSE", content: "text"}},
		filesIn(t, from, "toy/")...)
	for name, archive := range map[string][]byte{
		"a zip":                     zipped(t, top...),
		"a zip of a folder":         zipped(t, below[1:]...),
		"a tar":                     archived(t, top...),
		"a tar.gz":                  gzipped(t, archived(t, filesIn(t, from, "./")...)),
		"a tar.gz of a folder":      gzipped(t, archived(t, below...)),
		"with what others leave in": zipped(t, append(top, entry{name: "__MACOSX/toy/._manifest.json", content: "x"})...),
	} {
		folder, err := unpacked(t, archive)
		require.NoError(t, err, name)
		p, err := voicepack.Open(os.DirFS(folder))
		require.NoError(t, err, name)
		require.Equal(t, sum, p.SHA256, name)
		files, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, files, 3, name)
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	from, _, _ := pack(t)
	top := filesIn(t, from, "")
	with := func(more ...entry) []entry { return append(append([]entry{}, top...), more...) }
	var many []entry
	for i := range 100 {
		many = append(many, entry{name: fmt.Sprint("file", i)})
	}
	bomb := entry{name: "manifest.json", content: strings.Repeat("0", 1<<20)}
	whole := zipped(t, top...)
	for name, archive := range map[string][]byte{
		"text":                   []byte("this is not an archive, however long one looks at it"),
		"a truncated zip":        whole[:len(whole)/2],
		"a truncated tar.gz":     gzipped(t, archived(t, top...))[:400],
		"a path upwards":         zipped(t, with(entry{name: "../evil", content: "x"})...),
		"a path upwards, hidden": zipped(t, with(entry{name: "toy/../../evil", content: "x"})...),
		"an absolute path":       archived(t, with(entry{name: "/etc/evil", content: "x"})...),
		"a backslash":            zipped(t, with(entry{name: `..\evil`, content: "x"})...),
		"a link":                 archived(t, entry{name: "voice.onnx", kind: tar.TypeSymlink}),
		"a link in a zip":        zipped(t, entry{name: "voice.onnx", kind: tar.TypeSymlink, content: "/etc/passwd"}),
		"a hard link":            archived(t, entry{name: "manifest.json", kind: tar.TypeLink}),
		"a device":               archived(t, entry{name: "manifest.json", kind: tar.TypeChar}),
		"a file twice":           zipped(t, with(top[0])...),
		"two voices":             zipped(t, with(filesIn(t, from, "toy/")...)...),
		"too many files":         zipped(t, many...),
		"a zip bomb":             zipped(t, bomb),
		"a bomb in gzip":         gzipped(t, archived(t, bomb)),
	} {
		folder, err := unpacked(t, archive)
		require.ErrorIs(t, err, voicepack.ErrPackage, name)
		require.NoFileExists(t, filepath.Join(folder, "..", "evil"), name)
	}
	require.ErrorIs(t, voicepack.UnpackAny(bytes.NewReader(nil), 1<<40, t.TempDir()), voicepack.ErrPackage)
}

func FuzzUnpackAny(f *testing.F) {
	files := []entry{{name: "toy/manifest.json", content: "{}"}, {name: "toy/voice.onnx", content: "x"}}
	f.Add(zipped(f, files...))
	f.Add(gzipped(f, zipped(f, files...)))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		folder, _ := unpacked(t, archive)
		found, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, file := range found {
			require.True(t, file.Type().IsRegular())
			require.Contains(t, []string{"manifest.json", "voice.onnx", "voice.onnx.json"}, file.Name())
		}
	})
}
