// Recitalctl is the operators' command-line tool: a client of recitald's admin address.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/recital-tts/recital/internal/process/release"
)

const description = `The operators' tool of Recital. It talks to the admin address of a running recitald.

Examples:
  recitalctl accounts create --plan free                   open an account and show its API key, once
  recitalctl accounts create --plan indie --format json    the same for programs
  recitalctl accounts list                                 all accounts, the oldest first
  recitalctl accounts credit 0190b0c0111172228333444455556666 5000 --reason "Ticket 7"
                                                           grant an account 5,000 characters beside its plan
  recitalctl accounts credit 0190b0c0111172228333444455556666 5000 --grant ticket-1234
                                                           the same once, however often it is repeated
  recitalctl accounts show 0190b0c0111172228333444455556666 --as-of 2026-11-01
                                                           an account as it was at a time
  recitalctl audit sessions --account 0190b0c0111172228333444455556666
                                                           who came in, and what was done with the account
  recitalctl audit operators --operator ada                what an operator did, and why
  recitalctl projections list                              how far the read models are
  recitalctl projections rebuild --all --promote           build all of them from the log again and follow it
  recitalctl events --stream alerts --follow               the events of the log, as they are written
  recitalctl sandbox advance 744h                          renew the subscriptions of the payment sandbox
  recitalctl payments check                                whether the payment provider has what billing needs
  recitalctl keyring                                       whether Postgres has the keyring of the log
  recitalctl alerts                                        what is wrong with the service
  recitalctl doctor                                        find out why something does not work
  recitalctl doctor --data-dir /srv/recital                the same for a recitald with another data folder
  recitalctl --version                                     the release of this recitalctl

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 recitald does not answer, 4 the operator token is missing or
not accepted, 5 interrupted while it followed a rebuild, which goes on, 6 a backup fits its heads, whose key nobody has
confirmed.`

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
		Create  createAccount `cmd:"" help:"Open an account on a plan and give it an API key, which is shown this once."`
		Credit  creditAccount `cmd:"" help:"${commands_credit}"`
		Show    showAccount   `cmd:"" help:"Show an account as it is, or was at a time."`
		Close   closeAccount  `cmd:"" help:"${commands_close}"`
		Erasure erasureOf     `cmd:"" help:"Show what was erased of an account that was closed, and what is left to do."`
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
	Alerts      alertCommands   `cmd:"" help:"What is wrong: list it, clear what somebody has seen to."`
	Keyring     keyrings        `cmd:"" help:"The keyring that belongs to the log: show it, abandon it when it is lost."`
	Doctor      doctor          `cmd:"" help:"Check, in words, what recitalctl and recitald need."`
	Backup      backUp          `cmd:"" help:"${commands_backup}"`
	Restore     restore         `cmd:"" help:"Restore a backup into a new data folder, or try that out."`
	Audit       audits          `cmd:"" help:"What auditors ask: who did what, when and from where."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], newTerminal(os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, to terminal) int {
	if slices.Equal(args, []string{"--version"}) { // which is a flag of projections, too
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

// explainUsage names a negative number, which kong takes for a flag that is not known. No argument may be negative.
func explainUsage(args []string, err error) error {
	for _, arg := range args {
		if _, notANumber := strconv.ParseInt(arg, 10, 64); notANumber == nil && strings.HasPrefix(arg, "-") {
			return fmt.Errorf("the number must be positive, and not %s", arg)
		}
	}
	return err
}

// failure is an error with its exit code.
type failure struct {
	code    int
	err     error
	status  int  // of recitald's refusal, 0 for other errors
	passing bool // a retry may succeed without a change
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

// failForNow is fail for errors after which a retry may succeed without a change.
func failForNow(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), passing: true}
}

func exitCode(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitFailed
}
