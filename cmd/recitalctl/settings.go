package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/datafolder"
)

// settings are the settings of every command. They have the same names as recitald's.
type settings struct {
	AdminAddr string        `env:"RECITAL_ADMIN_ADDR" placeholder:"HOST:PORT" help:"${settings_admin_addr}"`
	DataDir   string        `default:".recital" env:"RECITAL_DATA_DIR" help:"${settings_data_dir}"`
	TokenFile string        `env:"RECITAL_OPERATOR_TOKEN_FILE" placeholder:"PATH" help:"${settings_token_file}"`
	Timeout   time.Duration `default:"30s" help:"How long an answer may take."`
	Reason    string        `placeholder:"TEXT" help:"${settings_reason}"`
	Wide      bool          `help:"Print all columns of tables, however long their lines are."`

	tokenName string // of the file in the data folder; "" for the operator's
}

// located returns the settings with the admin address of the recitald that works in the data folder, if none is set.
func (s settings) located() settings {
	s.AdminAddr = cmp.Or(s.AdminAddr, datafolder.Find(s.DataDir).Admin, "127.0.0.1:8081")
	return s
}

// Validate is called by kong; its errors mean wrong usage.
func (s settings) Validate() error {
	if err := checkAddress(s.AdminAddr); s.AdminAddr != "" && err != nil {
		return fmt.Errorf("the admin address %q: %w", s.AdminAddr, err)
	}
	switch {
	case strings.ContainsFunc(s.Reason, unicode.IsControl) || !utf8.ValidString(s.Reason) ||
		utf8.RuneCountInString(s.Reason) > 500:
		return errors.New("a reason is one line of at most 500 characters")
	case strings.Contains(s.Reason, "@"):
		return errors.New("a reason stays in the log for good, so it must not hold an e-mail address")
	}
	if s.Timeout <= 0 {
		return errors.New("the timeout must be above zero")
	}
	return nil
}

// needsReason refuses to read personal data without a reason.
func (s settings) needsReason() error {
	if strings.TrimSpace(s.Reason) == "" {
		return fail(exitUsage, "personal data is only read with --reason, which the log keeps")
	}
	return nil
}

// offline returns the actor of commands that need no recitald and no token: the user of this machine.
func (s settings) offline() eventlog.Actor {
	name := os.Getenv("SUDO_USER")
	if known, err := user.Current(); err == nil && name == "" {
		name = known.Username
	}
	return eventlog.Actor{
		Kind: eventlog.ActorOperator, Name: cmp.Or(name, "LOCAL"), Role: "offline", Reason: strings.TrimSpace(s.Reason),
	}
}

func checkAddress(address string) error {
	if strings.Contains(address, "/") {
		return errors.New("write HOST:PORT, without http:// and path")
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return errors.New("write HOST:PORT, such as 127.0.0.1:8081")
	}
	return nil
}

func (s settings) tokenPath() string {
	if s.TokenFile != "" {
		return s.TokenFile
	}
	return filepath.Join(s.DataDir, cmp.Or(s.tokenName, "operator-token"))
}

// token returns the operator token. No error and no output ever contains it.
func (s settings) token() (string, error) {
	path := s.tokenPath()
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fail(exitToken, "there is no operator token at %s; in mode dev recitald makes it at its first start, "+
			"in its data folder: give that with --data-dir. "+
			"In mode prod it is in a file of your own: give that with --token-file", path)
	case errors.Is(err, fs.ErrPermission):
		return "", fail(exitToken, "the operator token at %s may not be read by this user; "+
			"run recitalctl as the user of recitald", path)
	case err != nil:
		return "", fail(exitToken, "reading the operator token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" || strings.ContainsFunc(token, unfitForHeader) {
		return "", fail(exitToken, "%s does not hold an operator token; the list of operators, with a line for each, is "+
			"recitald's: give the file of your own token with --token-file", path)
	}
	return token, nil
}

func unfitForHeader(c rune) bool { return c <= ' ' || c > '~' }
