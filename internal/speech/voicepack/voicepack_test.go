package voicepack_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

// pack returns the folder of a package, its archive, and the hash.
func pack(t *testing.T) (folder string, archive []byte, sha256 string) {
	t.Helper()
	folder = neuraltest.Package(t, "toy")
	var out bytes.Buffer
	require.NoError(t, voicepack.Write(&out, os.DirFS(folder)))
	p, err := voicepack.Open(os.DirFS(folder))
	require.NoError(t, err)
	return folder, out.Bytes(), p.SHA256
}

func TestAPackageArrivesAsItWasSent(t *testing.T) {
	folder, archive, sum := pack(t)
	size, err := voicepack.Size(os.DirFS(folder))
	require.NoError(t, err)
	require.Len(t, archive, int(size))
	to := filepath.Join(t.TempDir(), "unpacked")
	p, err := voicepack.Unpack(bytes.NewReader(archive), to, sum)
	require.NoError(t, err)
	require.Equal(t, "toy", p.ID)
	require.Equal(t, sum, p.SHA256)
	for _, name := range []string{"manifest.json", "voice.onnx", "voice.onnx.json"} {
		want, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(to, name))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// entry is a file of an archive.
type entry struct {
	name, content string
	kind          byte
	size          int64 // 0 means the size of the content
}

// archived returns an archive as hostile as the test wants it.
func archived(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		head := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.content))}
		if e.kind != 0 {
			head.Typeflag, head.Linkname = e.kind, "/etc/passwd"
		}
		if e.size != 0 {
			head.Size = e.size
		}
		require.NoError(t, w.WriteHeader(head))
		_, _ = w.Write([]byte(e.content))
	}
	_ = w.Flush()
	return out.Bytes()
}

func TestWhatIsNoPackageIsRefusedAndLeavesNothing(t *testing.T) {
	folder, archive, sum := pack(t)
	content := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return string(data)
	}
	manifest := entry{name: "manifest.json", content: content("manifest.json")}
	config := entry{name: "voice.onnx.json", content: content("voice.onnx.json")}
	model := entry{name: "voice.onnx", content: content("voice.onnx")}
	swapped := model
	swapped.content = strings.Repeat("x", len(model.content))
	for name, hostile := range map[string][]byte{
		"nothing":              nil,
		"text":                 []byte("this is not an archive"),
		"truncated":            archive[:len(archive)/2],
		"a file is missing":    archived(t, manifest, config),
		"a file too many":      archived(t, manifest, config, model, entry{name: "evil", content: "x"}),
		"a path":               archived(t, manifest, config, entry{name: "../voice.onnx", content: model.content}),
		"a link":               archived(t, manifest, config, entry{name: "voice.onnx", kind: tar.TypeSymlink}),
		"a swapped model":      archived(t, manifest, config, swapped),
		"a manifest too large": archived(t, entry{name: "manifest.json", size: 1 << 20}),
		"a model too large":    archived(t, manifest, config, entry{name: "voice.onnx", size: 1 << 40}),
	} {
		to := filepath.Join(t.TempDir(), "unpacked")
		_, err := voicepack.Unpack(bytes.NewReader(hostile), to, sum)
		require.ErrorIs(t, err, voicepack.ErrPackage, name)
		require.NoDirExists(t, to, name)
	}
	to := filepath.Join(t.TempDir(), "unpacked")
	_, err := voicepack.Unpack(bytes.NewReader(archive), to, strings.Repeat("0", 64))
	require.ErrorIs(t, err, voicepack.ErrPackage, "another package than was meant")
	require.NoDirExists(t, to)
}

func TestStylesBelongToAPackageThatNamesThem(t *testing.T) {
	folder := neuraltest.KokoroFolder(t, "toy")
	var archive bytes.Buffer
	require.NoError(t, voicepack.Write(&archive, os.DirFS(folder)))
	size, err := voicepack.Size(os.DirFS(folder))
	require.NoError(t, err)
	require.Equal(t, int(size), archive.Len())
	p, err := voicepack.Open(os.DirFS(folder))
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), "unpacked")
	_, err = voicepack.Unpack(bytes.NewReader(archive.Bytes()), to, p.SHA256)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(to, voicepack.StylesFile))
	require.NoError(t, err)
	require.Equal(t, neuraltest.Styles(1), got)

	var files []entry
	for _, name := range []string{"manifest.json", "voice.onnx.json", "voice.onnx"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		files = append(files, entry{name: name, content: string(content)})
	}
	for name, hostile := range map[string][]byte{
		"no styles":    archived(t, files...),
		"other styles": archived(t, append(files, entry{name: voicepack.StylesFile, content: "x"})...),
		"large styles": archived(t, append(files, entry{name: voicepack.StylesFile, size: 1 << 30})...),
	} {
		to := filepath.Join(t.TempDir(), "unpacked")
		_, err := voicepack.Unpack(bytes.NewReader(hostile), to, p.SHA256)
		require.ErrorIs(t, err, voicepack.ErrPackage, name)
		require.NoDirExists(t, to, name)
	}
	_, plain, sum := pack(t)
	surplus := append(plain[:len(plain)-1024:len(plain)-1024],
		archived(t, entry{name: voicepack.StylesFile, content: string(got)})...)
	_, err = voicepack.Unpack(bytes.NewReader(surplus), filepath.Join(t.TempDir(), "unpacked"), sum)
	require.ErrorIs(t, err, voicepack.ErrPackage, "styles that the manifest does not name")
}

func TestAManifestSaysWhatAVoiceIs(t *testing.T) {
	folder, _, _ := pack(t)
	content, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	for name, change := range map[string]func(map[string]any){
		"another format":      func(m map[string]any) { m["format"] = 2 },
		"a system voice":      func(m map[string]any) { m["id"] = "leah" },
		"a path as id":        func(m map[string]any) { m["id"] = "../toy" },
		"no licence":          func(m map[string]any) { m["licence"] = "" },
		"two lines":           func(m map[string]any) { m["attribution"] = "a\nb" },
		"an escape sequence":  func(m map[string]any) { m["name"] = "\x1b[2J" },
		"a long text":         func(m map[string]any) { m["description"] = strings.Repeat("a", 501) },
		"an unknown language": func(m map[string]any) { m["languages"] = []string{"xx"} },
		"no language":         func(m map[string]any) { m["languages"] = nil },
		"an unknown field":    func(m map[string]any) { m["run"] = "rm" },
		"no hash": func(m map[string]any) {
			m["files"] = map[string]string{"voice.onnx": "1", "voice.onnx.json": ""}
		},
		"nothing on commerce":     func(m map[string]any) { m["commercial"] = "" },
		"another gender than any": func(m map[string]any) { m["gender"] = "female" },
	} {
		var m map[string]any
		require.NoError(t, json.Unmarshal(content, &m))
		change(m)
		changed, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = voicepack.Parse(changed)
		require.ErrorIs(t, err, voicepack.ErrPackage, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"format":1,"id":"toy"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := voicepack.Parse(content)
		if err == nil && (m.ID == "" || strings.ContainsAny(m.ID, "/.\\")) {
			t.Errorf("%q is an id", m.ID)
		}
	})
}
