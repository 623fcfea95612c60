package datafolder

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// secretSize is the size of keys and generated secrets, in bytes.
const secretSize = 32

// Key returns the key in the configured file, or that of the data folder, as hex digits.
func (f *Folder) Key(name, configured string) ([]byte, error) {
	text, path, err := f.Secret(name, configured)
	if err != nil {
		return nil, err
	}
	return parseKey(text, path)
}

// ReadKey returns the key in a file, as hex digits. The name says in errors what it is.
func ReadKey(name, path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the %s: %w", name, err)
	}
	return parseKey(string(content), path)
}

func parseKey(text, path string) ([]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != secretSize { // the error of hex quotes its input
		return nil, fmt.Errorf("%s holds no key: %d hex digits are needed, such as those that openssl rand -hex %d prints",
			path, 2*secretSize, secretSize)
	}
	return key, nil
}

// Secret returns the text of the configured file, which is never written, or of the file of the data folder, which is
// generated at the first start. The path is that of the file.
func (f *Folder) Secret(name, configured string) (text, path string, err error) {
	if configured == "" {
		text, err = f.FileOnce(name, drawSecret)
		return text, f.Path(name), err
	}
	content, err := os.ReadFile(configured)
	if err != nil {
		return "", "", fmt.Errorf("reading the %s: %w", name, err)
	}
	return string(content), configured, nil
}

func drawSecret() (string, error) {
	key := make([]byte, secretSize)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	return hex.EncodeToString(key), nil
}
