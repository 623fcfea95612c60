// Recitald is the server: it serves the API, runs the projections, and in dev mode starts its own event node,
// Postgres and speech workers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/coreos/go-systemd/v22/journal"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/process/release"
)

const description = `The Recital server: text to speech and accounts on an event log.

Examples:
  recitald                                       start with everything embedded, data in ./.recital
  recitald --data-dir /srv/recital               keep the data elsewhere
  recitald --http-addr 127.0.0.1:9000            serve on another port
  RECITAL_POSTGRES=postgres://… recitald         use your own Postgres
  recitald --print-config                        show the settings and what is wrong with them

Ctrl-C (or SIGTERM, SIGHUP) finishes the replies under way and stops everything; a second Ctrl-C stops at once.
Exit codes: 0 stopped as asked, 1 could not start or a part failed, 2 wrong usage or settings.`

// command is what can be given on the command line.
type command struct {
	app.Config
	Version     kong.VersionFlag `help:"Print the version, and do nothing else."`
	PrintConfig printing         `name:"print-config" placeholder:"table" help:"Print the settings that recitald would run with, where they are from, and all that is wrong with them, and do nothing else; --print-config=json for programs. Secrets are hidden."`
}

func main() {
	collectLess()
	limitMemory()
	log.SetOutput(io.Discard) // in which Go's HTTP client quotes what servers say unasked
	os.Exit(run(os.Args[1:]))
}

// heapGrowth is how much the heap may grow between collections, in per cent. The live heap is a few dozen MB, and
// with Go's default of 100 a rebuild spends an eighth of its time on collections.
const heapGrowth = 400

func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// memoryShare is the part of the machine's memory, or of the cgroup's, from which on the heap is collected more often.
// The rest is for the engines, the codecs, the private Postgres and what the system caches.
const memoryShare = 0.5

// limitMemory sets Go's memory limit, unless GOMEMLIMIT does.
func limitMemory() {
	provider := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)
	if _, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryShare),
		memlimit.WithProvider(provider)); err != nil {
		fmt.Fprintln(os.Stderr, "recitald: the memory has no limit:", err)
	}
}

func run(args []string) int {
	var c command
	parser, err := app.NewParser(&c, kong.Name("recitald"), kong.Description(description),
		kong.Vars{"version": "recitald " + release.Build()})
	if err != nil {
		fmt.Fprintln(os.Stderr, "recitald:", err)
		return 1
	}
	mistakes := app.ReadConfig(parser, &c.Config, args)
	if c.PrintConfig != "" {
		mistakes = errors.Join(mistakes, c.PrintConfig.print(os.Stdout, c.Settings()))
	}
	if mistakes != nil {
		fmt.Fprintln(os.Stderr, "recitald:", mistakes)
		return 2
	}
	if c.PrintConfig != "" {
		return 0
	}
	terminated, forget := signal.NotifyContext(context.Background(), ends()...)
	defer forget()
	ctx, stop := signal.NotifyContext(terminated, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, stop, c.Config); err != nil {
		fmt.Fprintln(os.Stderr, "recitald:", err)
		return 1
	}
	return 0
}

// ends returns the signals that end recitald in order: SIGHUP comes when its terminal goes, unless nohup started it.
func ends() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

func serve(ctx context.Context, stop func(), cfg app.Config) error {
	a, err := app.Open(ctx, cfg, os.Stderr)
	if err != nil {
		return err
	}
	isJournal, _ := journal.StdoutIsJournalStream() // an error means unknown, as in a terminal
	a.Welcome(os.Stdout, !isJournal)
	notify(daemon.SdNotifyReady)
	err = a.Run(ctx)
	// from here on a second Ctrl-C ends the process immediately; SIGTERM and SIGHUP may come repeatedly, from a dying
	// parent once for each thread
	stop()
	notify(daemon.SdNotifyStopping)
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stdout, "Stopping; replies under way are finished first.")
	}
	if closing := a.Close(); err == nil {
		err = closing
	}
	return err
}

// notify lets systemd know the state of a service of Type=notify. Without systemd nothing happens.
func notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		fmt.Fprintln(os.Stderr, "recitald: systemd cannot be notified:", err)
	}
}
