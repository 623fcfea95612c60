// Recitalctl is the operators' command-line tool: a client of recitald's admin address.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/release"
)

const description = `The operators' tool of Recital. It talks to the admin address of a running recitald.

Examples:
  recitalctl accounts create --plan free                   open an account and show its API key, once
  recitalctl accounts create --plan indie --format json    the same for programs
  recitalctl accounts list                                 all accounts, the oldest first
  recitalctl accounts credit 0190b0c0111172228333444455556666 5000 --reason "Ticket 7"
                                                           grant an account 5,000 characters on top of its plan
  recitalctl accounts credit 0190b0c0111172228333444455556666 5000 --grant ticket-1234
                                                           the same, but only once if repeated
  recitalctl accounts show 0190b0c0111172228333444455556666 --as-of 2026-11-01
                                                           an account as it was at a time
  recitalctl audit sessions --account 0190b0c0111172228333444455556666
                                                           sign-ins, sessions and changes of the account
  recitalctl audit operators --operator ada                what an operator did, and why
  recitalctl projections list                              the state of the read models
  recitalctl projections rebuild --all --promote           rebuild all of them from the log, and follow it
  recitalctl events --stream alerts --follow               the events of the log, as they are written
  recitalctl sandbox advance 744h                          renew the subscriptions of the payment sandbox
  recitalctl payments check                                check the account at the payment provider
  recitalctl keyring                                       check that Postgres has the keyring of the log
  recitalctl alerts                                        the open alerts
  recitalctl doctor                                        find out why something does not work
  recitalctl doctor --data-dir /srv/recital                the same for a recitald with another data folder
  recitalctl --version                                     the release of this recitalctl

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 recitald does not answer, 4 the operator token is missing or
not accepted, 5 interrupted while following a rebuild, which continues, 6 a backup matches its heads, but their key is
unconfirmed.`

// The documented exit codes.
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitUnreachable
	exitToken
	exitInterrupted
	exitUnconfirmed
)

type commands struct {
	settings

	Accounts struct {
		List    listAccounts  `cmd:"" help:"List the accounts that are open, page by page."`
		Create  createAccount `cmd:"" help:"Open an account on a plan, with an API key that is shown once."`
		Credit  creditAccount `cmd:"" help:"${commands_credit}"`
		Show    showAccount   `cmd:"" help:"Show an account as it is, or was at a time."`
		Close   closeAccount  `cmd:"" help:"${commands_close}"`
		Erasure erasureOf     `cmd:"" help:"Show the progress of a closed account's erasure."`
		Find    findAccounts  `cmd:"" help:"Find accounts by the e-mail address of their owner."`

		GrantOperator    grantOperator    `cmd:"" help:"Grant an account the role of an operator."`
		WithdrawOperator withdrawOperator `cmd:"" help:"Withdraw the role of an operator from an account."`
	} `cmd:"" help:"Accounts."`
	Projections projections     `cmd:"" help:"${commands_projections}"`
	Events      showEvents      `cmd:"" help:"Show the events of the log, and follow it."`
	Log         logs            `cmd:"" help:"The log as a whole: move it into another event store."`
	Sandbox     sandboxes       `cmd:"" help:"The payment provider for development: its clock, cards, refunds, faults."`
	Outbox      showOutbox      `cmd:"" help:"The notices that mode dev would have sent by e-mail, the newest first."`
	Payments    paymentCommands `cmd:"" help:"The account at the payment provider: set it up, check it."`
	Alerts      alertCommands   `cmd:"" help:"Open alerts: list and clear them."`
	Voices      voiceCommands   `cmd:"" help:"Neural voices: install, list, test and remove them."`
	Keyring     keyrings        `cmd:"" help:"The keyring of the log: show it, import it, abandon a lost one."`
	Doctor      doctor          `cmd:"" help:"Check what recitalctl and recitald need, with advice."`
	Backup      backUp          `cmd:"" help:"${commands_backup}"`
	Restore     restore         `cmd:"" help:"Restore a backup into a new data folder, or test that."`
	Audit       audits          `cmd:"" help:"For auditors: who did what, when and from where."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], newTerminal(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, to terminal) int {
	if slices.Equal(args, []string{"--version"}) { // --version is also a flag of commands on projections
		fmt.Fprintln(to.out, "recitalctl", release.Build())
		return exitDone
	}
	var c commands
	parser, err := newParser(&c, kong.Name("recitalctl"), kong.Description(description),
		kong.Writers(to.out, to.notes), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(to.notes, "recitalctl:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err == nil && hasEmpty(args) {
		err = errors.New("an argument is empty: is a variable of the shell not set?")
	}
	if err != nil {
		fmt.Fprintln(to.notes, "recitalctl:", explainUsage(args, err), "(see recitalctl --help)")
		return exitUsage
	}
	command.BindTo(ctx, (*context.Context)(nil))
	to.wide = c.settings.Wide
	s := c.settings.located()
	err = errors.Join(
		command.BindToProvider(func() (*client, error) {
			admin, err := newClient(s)
			if err == nil {
				admin.notes = to.notes
			}
			return admin, err
		}),
		command.BindToProvider(func() (auditor, error) { return newAuditor(s) }),
	)
	if err == nil {
		err = command.Run(s, to)
	}
	if err != nil {
		fmt.Fprintln(to.notes, "recitalctl:", err)
		return exitCode(err)
	}
	return exitDone
}

// explainUsage explains a negative number, which kong takes for an unknown flag. All numbers are positive.
func explainUsage(args []string, err error) error {
	for _, arg := range args {
		if _, notANumber := strconv.ParseInt(arg, 10, 64); notANumber == nil && strings.HasPrefix(arg, "-") {
			return fmt.Errorf("the number must be positive, not %s", arg)
		}
	}
	return err
}

// hasEmpty reports whether an argument is empty, or the value of a flag. As a filter it would mean all. An empty
// --after is the first page for programs that go from page to page.
func hasEmpty(args []string) bool {
	for i, arg := range args {
		flag, value, isFlag := strings.Cut(arg, "=")
		isFlag = isFlag && strings.HasPrefix(arg, "--")
		if arg == "" && i > 0 {
			flag = args[i-1]
		}
		if (arg == "" || isFlag && value == "") && flag != "--after" {
			return true
		}
	}
	return false
}

// failure is an error with its exit code.
type failure struct {
	code    int
	err     error
	status  int  // HTTP status of recitald's refusal; 0 for other errors
	passing bool // a retry may succeed without a change
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

// failForNow is like fail, for errors that may pass without a change.
func failForNow(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), passing: true}
}

func exitCode(err error) int {
	if f, is := errors.AsType[*failure](err); is {
		return f.code
	}
	return exitFailed
}

// helpTexts has the help texts that are too long for field tags. The tags refer to them by name.
//
//go:embed help.txt
var helpTexts string

// newParser returns the parser of the command line.
func newParser(c *commands, options ...kong.Option) (*kong.Kong, error) {
	texts, name := kong.Vars{}, ""
	for line := range strings.Lines(helpTexts) {
		switch text := strings.TrimSpace(line); {
		case text == "", strings.HasPrefix(line, "#"):
		case line[0] != ' ':
			name = text
		default:
			texts[name] = strings.TrimSpace(texts[name] + " " + text)
		}
	}
	return kong.New(c, append(options, texts)...)
}

// settings are the common flags of all commands. They have the same names as recitald's.
type settings struct {
	AdminAddr string        `env:"RECITAL_ADMIN_ADDR" placeholder:"HOST:PORT" help:"${settings_admin_addr}"`
	DataDir   string        `default:".recital" env:"RECITAL_DATA_DIR" help:"${settings_data_dir}"`
	TokenFile string        `env:"RECITAL_OPERATOR_TOKEN_FILE" placeholder:"PATH" help:"${settings_token_file}"`
	Timeout   time.Duration `default:"30s" help:"Maximum time for a response."`
	Reason    string        `placeholder:"TEXT" help:"${settings_reason}"`
	Wide      bool          `help:"Print all columns of tables, even if lines get long."`

	tokenName string // file name of the token in the data folder; "" for the operator's
}

// located returns the settings with a default for AdminAddr: the address of the recitald that uses the data folder.
func (s settings) located() settings {
	s.AdminAddr = cmp.Or(s.AdminAddr, datafolder.Find(s.DataDir).Admin, "127.0.0.1:8081")
	return s
}

// Validate implements kong's check of arguments.
func (s settings) Validate() error {
	if err := checkAddress(s.AdminAddr); s.AdminAddr != "" && err != nil {
		return fmt.Errorf("the admin address %q: %w", s.AdminAddr, err)
	}
	switch {
	case strings.ContainsFunc(s.Reason, unicode.IsControl) || !utf8.ValidString(s.Reason) ||
		utf8.RuneCountInString(s.Reason) > 500:
		return errors.New("a reason is one line of at most 500 characters")
	case strings.Contains(s.Reason, "@"):
		return errors.New("the log keeps a reason permanently, so it must not contain an e-mail address")
	}
	if s.Timeout <= 0 {
		return errors.New("the timeout must be above zero")
	}
	return nil
}

// needsReason returns an error if there is no reason, which reading personal data requires.
func (s settings) needsReason() error {
	if strings.TrimSpace(s.Reason) == "" {
		return fail(exitUsage, "reading personal data requires --reason, which the log keeps")
	}
	return nil
}

// offline returns the actor of commands that need neither recitald nor a token: the user of this machine.
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

// token returns the operator token. No error or output may contain it.
func (s settings) token() (string, error) {
	path := s.tokenPath()
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fail(exitToken, "there is no operator token at %s; in mode dev recitald creates it at its first start, "+
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
		return "", fail(exitToken, "%s does not contain an operator token. If it is recitald's list of operators, "+
			"give the file of your own token with --token-file", path)
	}
	return token, nil
}

func unfitForHeader(c rune) bool { return c <= ' ' || c > '~' }
