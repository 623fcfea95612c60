package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logdiff"
)

type auditVerify struct {
	Backup    string   `placeholder:"DIR" help:"Check the log in a backup instead of a running recitald's."`
	Heads     string   `placeholder:"FILE" help:"${audit_verify_heads}"`
	Against   string   `placeholder:"DIR" help:"${audit_verify_against}"`
	PublicKey []string `placeholder:"HEX" help:"${audit_verify_public_key}"`
	State     string   `placeholder:"FILE" help:"${audit_verify_state}"`
	Format    format   `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// Help implements kong.HelpProvider.
func (*auditVerify) Help() string {
	return `Reads the whole log and recomputes its chain of hashes. If the chain does not match the signed heads, it prints
where, and the exit code is 1. It proves nothing about events after the last head, or about changes before the heads
were signed. Heads show between which two of them an event was changed. A backup that no one else can write to also
shows which event (--against).

Examples:
  recitalctl audit verify
  recitalctl audit verify --heads heads.jsonl --public-key $KEY
  recitalctl audit verify --backup /var/backups/recital --heads heads.jsonl
  recitalctl audit verify --against /var/backups/recital --public-key $KEY
  recitalctl audit verify --state verified.json          continues after the last check, or an interruption`
}

// Run checks the log.
func (c *auditVerify) Run(ctx context.Context, s settings, to terminal) error {
	log, err := c.log(s)
	if err != nil {
		return err
	}
	defer log.Close()
	found, err := c.check(ctx, log, to)
	if err != nil {
		return err
	}
	if err := c.print(to, found); err != nil {
		return err
	}
	switch {
	case !found.Intact:
		return fail(exitFailed, "%s", found.verdict())
	case found.Signer == signerUnconfirmed:
		return fail(exitUnconfirmed, "the backup matches its own heads, but their key is unconfirmed: "+
			"give --public-key or --heads")
	}
	return nil
}

func (c *auditVerify) check(ctx context.Context, log audited, to terminal) (outcome, error) {
	begun, err := c.begin(ctx, log)
	if err != nil {
		return outcome{}, err
	}
	defer begun.close()
	found, err := begun.run(ctx, log, to)
	if err != nil {
		return outcome{}, fmt.Errorf("checking the log: %w", err)
	}
	return found, nil
}

func (c *auditVerify) log(s settings) (audited, error) {
	if c.Backup != "" {
		return openSaved(c.Backup)
	}
	admin, err := newAuditor(s)
	return liveLog(admin), err
}

// outcome is the result of a check.
type outcome struct {
	Intact bool     `json:"intact"`
	Signer signer   `json:"signer"`
	Keys   []string `json:"keys"`
	chain.Report
	Against *logdiff.Report `json:"against,omitempty"`
}

func (c *auditVerify) print(to terminal, found outcome) error {
	if c.Format == jsonValue {
		return c.Format.print(to, found, nil, nil)
	}
	fmt.Fprintf(to.out, "%d events were checked, up to position %s; %d of other applications are not part of the chain\n",
		found.Events, found.Position, found.Foreign)
	fmt.Fprintf(to.out, "%d heads of the log match, and %d exported ones\n", found.Heads, found.Exported)
	for _, finding := range found.Findings {
		fmt.Fprintln(to.out, printable("FOUND: "+finding.String()))
	}
	if found.More > 0 {
		fmt.Fprintf(to.out, "and %d findings more\n", found.More)
	}
	if found.Against != nil {
		printDifferences(to.out, *found.Against)
	}
	return found.explain(to.out)
}

// explain prints the proved and the unproved events.
func (o outcome) explain(out io.Writer) (err error) {
	if o.Intact && o.Last != nil {
		_, err = fmt.Fprintf(out, "Proved: none of the first %d events was changed, removed, added or reordered since %s, "+
			"except by someone who has the key\n",
			o.Last.Count, o.Last.At.UTC().Format(time.RFC3339))
	}
	if o.Intact && o.Exported > 0 {
		_, err = fmt.Fprintln(out,
			"Proved by the exported heads, up to the last of them: not even by someone who has the key")
	}
	if o.Uncovered > 0 {
		_, err = fmt.Fprintf(out, "Not proved: the last %d events, which no head covers yet\n", o.Uncovered)
	}
	switch keys := strings.Join(o.Keys, ", "); o.Signer {
	case signerRecitald:
		_, err = fmt.Fprintf(out, "recitald names the key itself, %s: "+
			"compare it with the one that you know, or give --public-key\n", keys)
	case signerUnconfirmed:
		_, err = fmt.Fprintf(out, "NOT CONFIRMED: the heads in the backup name their own key, %s. "+
			"Anyone who can write there could have signed them. Give --public-key or --heads\n", keys)
	}
	return err
}

func (o outcome) verdict() string {
	switch {
	case len(o.Findings) > 0:
		return "the log does not match its signed heads"
	case o.Against != nil && !o.Against.Same():
		return "the log does not match the backup"
	}
	return "nothing is proved: there are no heads"
}

// check is a running check.
type check struct {
	verifier *chain.Verifier
	against  *against // nil without --against
	state    string   // path of the state file; "" for none
	kept     kept     // content of the state file
	keys     []string
	signer   signer
	from     eventlog.Position
}

// kept is the content of a state file.
type kept struct {
	chain.Checkpoint
	Against *logdiff.Checkpoint `json:"against,omitempty"`
}

// signer is the source of the heads' public key.
type signer string

const (
	signerGiven       signer = "given"       // by the auditor
	signerExported    signer = "exported"    // by heads that the auditor exported earlier
	signerRecitald    signer = "recitald"    // by a running recitald
	signerUnconfirmed signer = "unconfirmed" // by the log itself
)

// errNoHeads means that the log has no heads, and so no key.
var errNoHeads = errors.New("the log has no heads, so it proves nothing by itself")

func (c *auditVerify) begin(ctx context.Context, log audited) (_ *check, err error) {
	begun := &check{state: c.State}
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.close())
		}
	}()
	id, err := log.id(ctx)
	if err == nil {
		begun.keys, begun.signer, err = c.keys(ctx, log)
	}
	if err != nil {
		return nil, err
	}
	if len(begun.keys) == 0 && c.Against == "" {
		return nil, errNoHeads
	}
	config := chain.Config{
		Log: id, Keys: begun.keys,
		Heads: func(from uint64) iter.Seq2[chain.LoggedHead, error] { return log.heads(ctx, from) },
	}
	if config.Exported, err = c.exported(); err != nil {
		return nil, err
	}
	if config.From, err = begun.resume(); err != nil {
		return nil, err
	}
	if config.From != nil {
		begun.from = config.From.Report.Position
	}
	if c.Against != "" {
		if begun.against, err = compareWith(ctx, c.Against, id, begun.kept.Against); err != nil {
			return nil, err
		}
	}
	begun.verifier, err = chain.NewVerifier(config)
	if err != nil {
		return nil, fmt.Errorf("beginning the check: %w", err)
	}
	return begun, nil
}

// keys returns the trusted keys of heads, and their source.
func (c *auditVerify) keys(ctx context.Context, log audited) (keys []string, from signer, err error) {
	switch keys, from = c.PublicKey, signerGiven; {
	case len(keys) > 0:
	case c.Backup == "":
		from = signerRecitald
		keys, err = log.keys(ctx)
	case c.Heads != "":
		from = signerExported
		keys, err = c.exportedKeys()
	default:
		from = signerUnconfirmed
		keys, err = log.keys(ctx)
	}
	for i, key := range keys {
		keys[i] = strings.ToLower(strings.TrimSpace(key))
		if decoded, err := hex.DecodeString(keys[i]); err != nil || len(decoded) != 32 {
			return nil, from, fail(exitUsage, "a public key has 64 hex digits, as recitalctl audit heads shows them")
		}
	}
	return keys, from, err
}

// exportedKeys returns the keys that signed the exported heads.
func (c *auditVerify) exportedKeys() (keys []string, err error) {
	heads, err := c.exported()
	if err != nil {
		return nil, err
	}
	return keysOf(heads, func(head audit.Head) audit.Head { return head })
}

// keysOf returns the keys that signed heads.
func keysOf[H any](heads iter.Seq2[H, error], of func(H) audit.Head) (keys []string, err error) {
	for one, err := range heads {
		if err != nil {
			return nil, err
		}
		if head := of(one); head.Signed() && !slices.Contains(keys, head.Key) {
			keys = append(keys, head.Key)
		}
	}
	return keys, nil
}

func (c *check) close() (err error) {
	if c.verifier != nil {
		err = c.verifier.Close()
	}
	if c.against != nil {
		err = errors.Join(err, c.against.close())
	}
	return err
}

// exported yields the heads in the file of --heads, which stays open until the process ends.
func (c *auditVerify) exported() (iter.Seq2[audit.Head, error], error) {
	if c.Heads == "" {
		return nil, nil
	}
	file, err := os.Open(c.Heads)
	if err != nil {
		return nil, fmt.Errorf("opening the file of heads: %w", err)
	}
	return readHeads(file), nil
}

func (c *check) resume() (*chain.Checkpoint, error) {
	if c.state == "" {
		return nil, nil
	}
	content, err := os.ReadFile(c.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	if err := json.Unmarshal(content, &c.kept); err != nil {
		return nil, fail(exitFailed, "%s is not the state of a check; remove it to start over", c.state)
	}
	return &c.kept.Checkpoint, nil
}

// keep writes the state atomically.
func (c *check) keep() error {
	if c.state == "" {
		return nil
	}
	c.kept.Checkpoint = c.verifier.Checkpoint()
	if c.against != nil {
		at := c.against.Checkpoint()
		c.kept.Against = &at
	}
	content, err := json.Marshal(c.kept)
	if err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(c.state), ".verify-*") // mode 0600
	if err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	_, err = next.Write(content)
	if err := errors.Join(err, next.Sync(), next.Close()); err != nil {
		return errors.Join(fmt.Errorf("keeping the state: %w", err), os.Remove(next.Name()))
	}
	return os.Rename(next.Name(), c.state)
}

// keepEvery is the interval of writing the state.
const keepEvery = 5 * time.Second

func (c *check) run(ctx context.Context, log audited, to terminal) (outcome, error) {
	events, until := log.events(ctx, c.begins())
	kept, progress := time.Now(), newStage(to)
	progress.details = c.progress()
	progress.begin("checking the log", 0)
	defer progress.close()
	for event, err := range events {
		if err == nil {
			err = c.add(event)
		}
		if err != nil {
			return outcome{}, errors.Join(err, c.keep())
		}
		if time.Since(kept) > keepEvery {
			kept = time.Now()
			if err := c.keep(); err != nil {
				return outcome{}, err
			}
		}
		progress.add(1)
	}
	// Written before the end of the check, so that the next check expects heads of events that were not read yet.
	if err := c.keep(); err != nil {
		return outcome{}, err
	}
	return c.end(until())
}

// begins returns the position after which the log is read.
func (c *check) begins() eventlog.Position {
	if c.against != nil && c.against.After().Compare(c.from) < 0 {
		return c.against.After()
	}
	return c.from
}

func (c *check) add(event eventlog.Recorded) error {
	if c.against != nil {
		if err := c.against.Add(event); err != nil {
			return fmt.Errorf("comparing with the backup: %w", err)
		}
	}
	if event.Position.Compare(c.from) <= 0 {
		return nil
	}
	return c.verifier.Add(event)
}

func (c *check) end(until eventlog.Position) (found outcome, err error) {
	found = outcome{Signer: c.signer, Keys: c.keys}
	if found.Report, err = c.verifier.End(until); err != nil {
		return found, err
	}
	found.Intact = found.Report.Intact()
	if c.against != nil {
		differences, err := c.against.End()
		if err != nil {
			return found, fmt.Errorf("comparing with the backup: %w", err)
		}
		found.Against, found.Intact = &differences, found.Intact && differences.Same()
	}
	return found, nil
}

// progress returns a function that describes the progress of the check.
func (c *check) progress() func() string {
	begun, first := time.Now(), c.verifier.Progress().Events
	return func() string {
		report := c.verifier.Progress()
		return fmt.Sprintf("%d events, %d heads match, %d findings, %.0f events a second", report.Events,
			report.Heads+report.Exported,
			len(report.Findings), float64(report.Events-first)/time.Since(begun).Seconds())
	}
}

// against is a comparison with a backup.
type against struct {
	*logdiff.Comparison
	saved savedLog
}

// compareWith starts or continues a comparison of a log with a backup of it.
func compareWith(ctx context.Context, dir, log string, from *logdiff.Checkpoint) (*against, error) {
	saved, err := openSaved(dir)
	if err != nil {
		return nil, err
	}
	c, err := saved.compare(ctx, log, from)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("comparing with %s: %w", dir, err), saved.Close())
	}
	return &against{c, saved}, nil
}

func (l savedLog) compare(ctx context.Context, log string, from *logdiff.Checkpoint) (*logdiff.Comparison, error) {
	own := l.manifest.Identity()
	if own.LogID.String() != log {
		return nil, fmt.Errorf("it is a backup of another log, %s, not of %s", own.LogID, log)
	}
	after := func(position eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
		events, _ := l.events(ctx, position)
		return events
	}
	return logdiff.New(fmt.Sprintf("log %s, epoch %d", own.LogID, own.Epoch), after, from)
}

func (a *against) close() error { return errors.Join(a.Close(), a.saved.Close()) }

// maxPrinted is the maximum number of differences that are printed. JSON has all that are known.
const maxPrinted = 100

func printDifferences(out io.Writer, r logdiff.Report) {
	fmt.Fprintf(out, "%d events were compared with the backup; the log has %d later ones\n", r.Compared, r.Later)
	for _, d := range r.Differences[:min(len(r.Differences), maxPrinted)] {
		fmt.Fprintln(out, printable("FOUND: "+d.String()))
	}
	if hidden := len(r.Differences) - maxPrinted + int(r.More); len(r.Differences) > maxPrinted {
		fmt.Fprintf(out, "and %d differences more\n", hidden)
	}
}
