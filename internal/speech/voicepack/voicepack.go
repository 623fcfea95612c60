// Package voicepack reads and writes packages of voices that operators install: a folder with a manifest and the files
// of a voice, or a tar archive of it. Packages are not trusted: names and sizes are limited, and hashes are verified.
package voicepack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech"
)

// The files of a package. Only voices with several styles have the last one.
const (
	ManifestFile = "manifest.json"
	ConfigFile   = "voice.onnx.json"
	ModelFile    = "voice.onnx"
	StylesFile   = "voice.styles.bin"
)

// limits are the maximum sizes of files in bytes.
var limits = map[string]int64{ManifestFile: 64 << 10, ConfigFile: 1 << 20, ModelFile: 512 << 20, StylesFile: 1 << 20}

// files returns the names of the package's files, in the order of its archive.
func (m Manifest) files() []string {
	names := []string{ManifestFile, ConfigFile, ModelFile}
	if _, found := m.Files[StylesFile]; found {
		names = append(names, StylesFile)
	}
	return names
}

// BlobPrefix begins the addresses of stored packages.
const BlobPrefix = "package-"

// ErrPackage means that something is not a valid package of a voice. Wrapping errors have the reason.
var ErrPackage = errors.New("this is no package of a voice")

// Manifest describes a voice.
type Manifest struct {
	Format      int      `json:"format"` // 1
	ID          string   `json:"id"`     // the voice's id in the API
	Name        string   `json:"name"`
	Gender      string   `json:"gender"` // F, M or U
	Description string   `json:"description,omitempty"`
	Languages   []string `json:"languages"` // engine languages
	Licence     string   `json:"licence"`
	Attribution string   `json:"attribution,omitempty"` // required by the licence
	Commercial  string   `json:"commercial"`            // whether the licence permits commercial use: yes, no or unknown
	Base        string   `json:"base,omitempty"`        // the voice that it was trained from
	Source      string   `json:"source,omitempty"`
	OwnName     bool     `json:"own_name,omitempty"` // the licence requires the voice's own name
	// Files are the SHA-256 of the other files, in hex.
	Files map[string]string `json:"files"`
}

var idPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`)

// Parse reads a manifest. Errors: ErrPackage.
func Parse(content []byte) (Manifest, error) {
	var m Manifest
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("%w: its manifest is not readable: %w", ErrPackage, err)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("%w: its manifest %w", ErrPackage, err)
	}
	return m, nil
}

func (m Manifest) check() error {
	if _, system := speech.LookupVoice(m.ID); system {
		return errors.New("has the id of a system voice")
	}
	switch {
	case m.Format != 1:
		return errors.New("has a format other than 1")
	case !idPattern.MatchString(m.ID):
		return errors.New("has an id that is not 2 to 32 lower case letters, digits and hyphens")
	case m.Name == "" || m.Licence == "":
		return errors.New("lacks a name or a licence")
	case !slices.Contains([]string{"F", "M", "U"}, m.Gender):
		return errors.New("has a gender other than F, M and U")
	case !slices.Contains([]string{"yes", "no", "unknown"}, m.Commercial):
		return errors.New("has a value for commercial other than yes, no and unknown")
	case len(m.Languages) == 0 || len(m.Languages) > 16 || !all(m.Languages, speech.IsEngineLanguage):
		return errors.New("has a language that the engines do not know")
	case len(m.Files) != len(m.files())-1:
		return errors.New("has other files than a voice")
	}
	for _, text := range []string{m.Name, m.Description, m.Licence, m.Attribution, m.Base, m.Source} {
		if !isLine(text) {
			return errors.New("has a text that is not one line of at most 500 characters")
		}
	}
	for _, name := range m.files()[1:] {
		if sum, err := hex.DecodeString(m.Files[name]); err != nil || len(sum) != sha256.Size {
			return fmt.Errorf("has no SHA-256 of %s", name)
		}
	}
	return nil
}

func all(values []string, is func(string) bool) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !is(v) })
}

// isLine reports whether a text can be displayed in one line.
func isLine(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= 500 &&
		!slices.ContainsFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) })
}

// Package is a package in a folder.
type Package struct {
	Manifest
	SHA256 string // of the manifest, which includes the hashes of the other files; in hex
}

// Open reads the package in a folder and verifies the hashes. Errors: ErrPackage.
func Open(folder fs.FS) (Package, error) {
	m, err := manifest(folder)
	if err != nil {
		return Package{}, err
	}
	for _, name := range m.files()[1:] {
		sum, err := sumOf(folder, name)
		if err != nil {
			return Package{}, err
		}
		if sum != m.Files[name] {
			return Package{}, fmt.Errorf("%w: %s has another SHA-256 than in the manifest", ErrPackage, name)
		}
	}
	sum, err := sumOf(folder, ManifestFile)
	return Package{Manifest: m, SHA256: sum}, err
}

func manifest(folder fs.FS) (Manifest, error) {
	content, err := Read(folder, ManifestFile)
	if err != nil {
		return Manifest{}, err
	}
	return Parse(content)
}

// Read returns the content of a file of a package. Errors: ErrPackage.
func Read(folder fs.FS, name string) ([]byte, error) {
	file, size, err := open(folder, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content := make([]byte, size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, fmt.Errorf("reading a package: %w", err)
	}
	return content, nil
}

func sumOf(folder fs.FS, name string) (string, error) {
	file, _, err := open(folder, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("reading a package: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// open opens a regular file that is not too large.
func open(folder fs.FS, name string) (file fs.File, size int64, err error) {
	file, err = folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: it lacks %s", ErrPackage, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading a package: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("reading a package: %w", err)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%w: %s is no file", ErrPackage, name)
	case info.Size() > limits[name]:
		err = fmt.Errorf("%w: %s is larger than %d bytes", ErrPackage, name, limits[name])
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Write writes the archive of a package's folder.
func Write(to io.Writer, folder fs.FS) error {
	m, err := manifest(folder)
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	for _, name := range m.files() {
		if err := add(out, folder, name); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

func add(out *tar.Writer, folder fs.FS, name string) error {
	file, size, err := open(folder, name)
	if err != nil {
		return err
	}
	defer file.Close()
	head := &tar.Header{Name: name, Mode: 0o600, Size: size, Format: tar.FormatUSTAR}
	if err := out.WriteHeader(head); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	if _, err := io.Copy(out, file); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

// Size returns the size of the archive of a package's folder in bytes.
func Size(folder fs.FS) (int64, error) {
	var written counter
	err := Write(&written, folder)
	return int64(written), err
}

// counter counts the bytes written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
