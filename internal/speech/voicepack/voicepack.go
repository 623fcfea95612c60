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
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/speech"
)

// The files of a package, in the order of its archive. Only voices with several styles have the last one.
const (
	ManifestFile = "manifest.json"
	ConfigFile   = "voice.onnx.json"
	ModelFile    = "voice.onnx"
	StylesFile   = "voice.styles.bin"
)

// limit is the maximum size of a file in bytes.
type limit struct {
	name string
	size int64
}

var limits = []limit{{ManifestFile, 64 << 10}, {ConfigFile, 1 << 20}, {ModelFile, 512 << 20}, {StylesFile, 1 << 20}}

// filesOf returns the files of a package with these hashes in its manifest.
func filesOf(hashes map[string]string) []limit {
	if _, found := hashes[StylesFile]; found {
		return limits
	}
	return limits[:len(limits)-1]
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
	case len(m.Files) != len(filesOf(m.Files))-1:
		return errors.New("has other files than a voice")
	}
	for _, text := range []string{m.Name, m.Description, m.Licence, m.Attribution, m.Base, m.Source} {
		if !isLine(text) {
			return errors.New("has a text that is not one line of at most 500 characters")
		}
	}
	for _, file := range filesOf(m.Files)[1:] {
		if sum, err := hex.DecodeString(m.Files[file.name]); err != nil || len(sum) != sha256.Size {
			return fmt.Errorf("has no SHA-256 of %s", file.name)
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
	content, err := Read(folder, ManifestFile)
	if err != nil {
		return Package{}, err
	}
	m, err := Parse(content)
	if err != nil {
		return Package{}, err
	}
	for _, file := range filesOf(m.Files)[1:] {
		sum, err := sumOf(folder, file.name, file.size)
		if err != nil {
			return Package{}, err
		}
		if sum != m.Files[file.name] {
			return Package{}, fmt.Errorf("%w: %s has another SHA-256 than in the manifest", ErrPackage, file.name)
		}
	}
	sum := sha256.Sum256(content)
	return Package{Manifest: m, SHA256: hex.EncodeToString(sum[:])}, nil
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
	limit := limitOf(name)
	file, err := open(folder, name, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, fmt.Errorf("reading a package: %w", err)
	}
	return content, nil
}

// limitOf returns the maximum size of a file in bytes, or 0 for a name that is not part of packages.
func limitOf(name string) int64 {
	for _, file := range limits {
		if file.name == name {
			return file.size
		}
	}
	return 0
}

func sumOf(folder fs.FS, name string, limit int64) (string, error) {
	file, err := open(folder, name, limit)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, limit)); err != nil {
		return "", fmt.Errorf("reading a package: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// open opens a regular file.
func open(folder fs.FS, name string, limit int64) (fs.File, error) {
	file, err := folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it lacks %s", ErrPackage, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a package: %w", err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("reading a package: %w", err)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%w: %s is no file", ErrPackage, name)
	case info.Size() > limit:
		err = fmt.Errorf("%w: %s is larger than %d bytes", ErrPackage, name, limit)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Write writes the archive of a package's folder.
func Write(to io.Writer, folder fs.FS) error {
	m, err := manifest(folder)
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	for _, file := range filesOf(m.Files) {
		if err := add(out, folder, file.name, file.size); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

func add(out *tar.Writer, folder fs.FS, name string, limit int64) error {
	file, err := open(folder, name, limit)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("reading a package: %w", err)
	}
	head := &tar.Header{Name: name, Mode: 0o600, Size: info.Size(), Format: tar.FormatUSTAR}
	if err := out.WriteHeader(head); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	if _, err := io.Copy(out, file); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

// Unpack unpacks an archive into a new folder and opens it. It compares sha256 with the manifest's hash. After an error
// the folder is removed. Errors: ErrPackage.
func Unpack(from io.Reader, folder, sha256 string) (p Package, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return Package{}, fmt.Errorf("unpacking a package: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	in := tar.NewReader(from)
	if err := extract(in, folder, ManifestFile, limitOf(ManifestFile)); err != nil {
		return Package{}, err
	}
	m, err := manifest(os.DirFS(folder))
	if err != nil {
		return Package{}, err
	}
	for _, file := range filesOf(m.Files)[1:] {
		if err := extract(in, folder, file.name, file.size); err != nil {
			return Package{}, err
		}
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return Package{}, fmt.Errorf("%w: it has more files than a voice", ErrPackage)
	}
	if p, err = Open(os.DirFS(folder)); err != nil {
		return Package{}, err
	}
	if p.SHA256 != sha256 {
		return Package{}, fmt.Errorf("%w: its manifest has the SHA-256 %s", ErrPackage, p.SHA256)
	}
	return p, nil
}

// extract extracts the next file, which must have the given name.
func extract(in *tar.Reader, folder, name string, limit int64) error {
	head, err := in.Next()
	switch {
	case err != nil:
		return fmt.Errorf("%w: it lacks %s", ErrPackage, name)
	case head.Name != name || head.Typeflag != tar.TypeReg:
		return fmt.Errorf("%w: another file is in the place of %s", ErrPackage, name)
	case head.Size > limit:
		return fmt.Errorf("%w: %s is larger than %d bytes", ErrPackage, name, limit)
	}
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("unpacking a package: %w", err)
	}
	n, err := io.Copy(file, in)
	if err == nil && n != head.Size {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: it ends within %s", ErrPackage, name)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("unpacking a package: %w", err)
	}
	return nil
}

// Size returns the size of the archive of a package's folder in bytes.
func Size(folder fs.FS) (int64, error) {
	m, err := manifest(folder)
	if err != nil {
		return 0, err
	}
	const block = 512
	size := int64(2 * block) // the end
	for _, file := range filesOf(m.Files) {
		info, err := fs.Stat(folder, file.name)
		if err != nil {
			return 0, fmt.Errorf("reading a package: %w", err)
		}
		size += block + (info.Size()+block-1)/block*block
	}
	return size, nil
}
