// Recitalctl is the operators' tool: a client of the admin address of a recitald.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

const description = `The operators' tool of Recital. It talks to the admin address of a running recitald.

Examples:
  recitalctl accounts create --plan free                   open an account and show its API key, once
  recitalctl accounts create --plan indie --format json    the same for programs
  recitalctl doctor                                        find out why something does not work
  recitalctl doctor --data-dir /srv/recital                the same for a recitald with another data folder

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 recitald does not answer, 4 the operator token is missing or
not accepted.`

// The exit codes that the description promises.
const (
	exitDone = iota
	exitFailed
	exitUsage
	exitUnreachable
	exitToken
)

type commands struct {
	settings

	Accounts struct {
		Create createAccount `cmd:"" help:"Open an account on a plan and give it an API key, which is shown this once."`
	} `cmd:"" help:"Accounts."`
	Doctor doctor `cmd:"" help:"Check, in words, what recitalctl and recitald need."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// terminal is where commands print: results to out, what is said about them to notes.
type terminal struct{ out, notes io.Writer }

func run(ctx context.Context, args []string, out, notes io.Writer) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("recitalctl"), kong.Description(description), kong.Writers(out, notes),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(notes, "recitalctl:", err)
		return exitFailed
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(notes, "recitalctl:", err, "(see recitalctl --help)")
		return exitUsage
	}
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(c.settings, terminal{out, notes}); err != nil {
		fmt.Fprintln(notes, "recitalctl:", err)
		return exitCode(err)
	}
	return exitDone
}

// failure is an error with its exit code.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitFailed
}
