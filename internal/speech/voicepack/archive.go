package voicepack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// MaxArchive is the maximum size of an archive in bytes, also after gzip is removed.
const MaxArchive = 600 << 20

// maxEntries is the maximum number of files and folders in an archive.
const maxEntries = 64

// Unpack unpacks an archive by Write into a new folder and opens it. It compares sha256 with the manifest's hash. After
// an error the folder is removed. Errors: ErrPackage.
func Unpack(from io.Reader, folder, sha256 string) (p Package, err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return Package{}, fmt.Errorf("unpacking a package: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	u := &unpacker{folder: folder}
	if err := u.tar(from); err != nil {
		return Package{}, err
	}
	p, err = Open(os.DirFS(folder))
	switch {
	case err != nil:
		return Package{}, err
	case u.entries != len(p.files()):
		return Package{}, fmt.Errorf("%w: it has more files than a voice", ErrPackage)
	case p.SHA256 != sha256:
		return Package{}, fmt.Errorf("%w: its manifest has the SHA-256 %s", ErrPackage, p.SHA256)
	}
	return p, nil
}

// UnpackAny unpacks the package in a zip, tar or compressed tar into an empty folder. The files of the package are at
// the top of the archive or in one folder; other files are ignored. The caller removes the folder, also after an error.
// Errors: ErrPackage.
func UnpackAny(from io.ReaderAt, size int64, folder string) error {
	if size > MaxArchive {
		return fmt.Errorf("%w: it is larger than %d bytes", ErrPackage, MaxArchive)
	}
	u := &unpacker{folder: folder}
	start := make([]byte, 2)
	if _, err := from.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading a package: %w", err)
	}
	content := io.NewSectionReader(from, 0, size)
	switch {
	case bytes.Equal(start, []byte("PK")):
		return u.zip(from, size)
	case bytes.Equal(start, []byte{0x1f, 0x8b}):
		plain, err := gzip.NewReader(content)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPackage, err)
		}
		return u.tar(io.LimitReader(plain, MaxArchive))
	default:
		return u.tar(content)
	}
}

// unpacker writes the files of a package.
type unpacker struct {
	folder  string
	entries int
	place   string // the folder of the package in the archive
	found   bool
}

func (u *unpacker) zip(from io.ReaderAt, size int64) error {
	in, err := zip.NewReader(from, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPackage, err)
	}
	for _, file := range in.File {
		if err := u.add(file.Name, file.Mode().Type(), file.Open); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) tar(from io.Reader) error {
	in := tar.NewReader(from)
	open := func() (io.ReadCloser, error) { return io.NopCloser(in), nil }
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: it is no zip and no tar, or damaged: %w", ErrPackage, err)
		}
		kind := head.FileInfo().Mode().Type()
		switch head.Typeflag {
		case tar.TypeXGlobalHeader: // written by git
			continue
		case tar.TypeLink:
			kind = fs.ModeIrregular
		}
		if err := u.add(head.Name, kind, open); err != nil {
			return err
		}
	}
}

// add writes an entry if it is a file of the package.
func (u *unpacker) add(name string, kind fs.FileMode, open func() (io.ReadCloser, error)) error {
	wanted, err := u.wants(name, kind)
	if err != nil || wanted == "" {
		return err
	}
	content, err := open()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPackage, err)
	}
	return errors.Join(u.write(wanted, content), content.Close())
}

// wants returns the name of an entry that is a file of the package, "" for other entries, and an error for an entry of
// a malicious archive.
func (u *unpacker) wants(name string, kind fs.FileMode) (string, error) {
	u.entries++
	name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	place, base := path.Split(name)
	switch {
	case u.entries > maxEntries:
		return "", fmt.Errorf("%w: it has more than %d entries", ErrPackage, maxEntries)
	case kind.IsDir() && (name == "" || filepath.IsLocal(name)):
		return "", nil
	case !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\\\x00"):
		return "", fmt.Errorf("%w: it has a path that leads out of it", ErrPackage)
	case !kind.IsRegular():
		return "", fmt.Errorf("%w: it has a link or a device", ErrPackage)
	case limits[base] == 0 || strings.Count(place, "/") > 1:
		return "", nil
	case u.found && place != u.place:
		return "", fmt.Errorf("%w: it has more than one voice", ErrPackage)
	}
	u.place, u.found = place, true
	return base, nil
}

// write writes a file up to its limit, whatever size the archive claims.
func (u *unpacker) write(name string, content io.Reader) error {
	file, err := os.OpenFile(filepath.Join(u.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: it has %s twice", ErrPackage, name)
	}
	if err != nil {
		return fmt.Errorf("unpacking a package: %w", err)
	}
	limit := limits[name]
	written, err := io.Copy(file, io.LimitReader(content, limit+1))
	var wrote *fs.PathError
	switch {
	case errors.As(err, &wrote):
		err = fmt.Errorf("unpacking a package: %w", err)
	case err != nil:
		err = fmt.Errorf("%w: %s is damaged: %w", ErrPackage, name, err)
	case written > limit:
		err = fmt.Errorf("%w: %s is larger than %d bytes", ErrPackage, name, limit)
	}
	return errors.Join(err, file.Close())
}
