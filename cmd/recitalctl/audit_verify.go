package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/events/chain"
	"github.com/recital-tts/recital/internal/events/logdiff"
)

type auditVerify struct {
	Backup    string   `placeholder:"DIR" help:"Check the log in a backup, instead of that of a running recitald."`
	Heads     string   `placeholder:"FILE" help:"${audit_verify_heads}"`
	Against   string   `placeholder:"DIR" help:"${audit_verify_against}"`
	PublicKey []string `placeholder:"HEX" help:"${audit_verify_public_key}"`
	State     string   `placeholder:"FILE" help:"${audit_verify_state}"`
	Format    format   `default:"table" enum:"table,json" help:"Form of the result: table or json."`
}

// Help is shown below the flags.
func (*auditVerify) Help() string {
	return `Reads the whole log and computes its chain of hashes again. If it is not what the signed heads say, it says
where, and the exit code is 1. Nothing is proved of the events after the last head, nor of what happened before they
were signed. Heads say between which two of them an event was changed; a backup that you keep where nobody else can
write says which one (--against).

Examples:
  recitalctl audit verify
  recitalctl audit verify --heads heads.jsonl --public-key $KEY
  recitalctl audit verify --backup /var/backups/recital --heads heads.jsonl
  recitalctl audit verify --against /var/backups/recital --public-key $KEY
  recitalctl audit verify --state verified.json          goes on where it was interrupted, or ended the last time`
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
		return fail(exitUnconfirmed, "the backup fits its own heads, but nobody has confirmed that their key is "+
			"the right one: say --public-key, or --heads")
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
	fmt.Fprintf(to.out, "%d heads of the log fit, and %d exported ones\n", found.Heads, found.Exported)
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

// explain prints what the check proves and what it does not.
func (o outcome) explain(out io.Writer) (err error) {
	if o.Intact && o.Last != nil {
		_, err = fmt.Fprintf(out, "Proved: none of the first %d events was changed, removed, added or reordered since %s, "+
			"unless by somebody who has the key\n",
			o.Last.Count, o.Last.At.UTC().Format(time.RFC3339))
	}
	if o.Intact && o.Exported > 0 {
		_, err = fmt.Fprintln(out, "Proved by the exported heads: nor by somebody who has the key, up to the last of them")
	}
	if o.Uncovered > 0 {
		_, err = fmt.Fprintf(out, "Not proved: the last %d events, which no head speaks of yet\n", o.Uncovered)
	}
	switch keys := strings.Join(o.Keys, ", "); o.Signer {
	case signerRecitald:
		_, err = fmt.Fprintf(out, "recitald names the key itself, %s: "+
			"compare it with the one that you know, or say --public-key\n", keys)
	case signerUnconfirmed:
		_, err = fmt.Fprintf(out, "NOT CONFIRMED: the heads in the backup name their own key, %s; "+
			"whoever can write there could have signed them. Say --public-key, or --heads\n", keys)
	}
	return err
}

func (o outcome) verdict() string {
	switch {
	case len(o.Findings) > 0:
		return "the log is not what its signed heads say"
	case o.Against != nil && !o.Against.Same():
		return "the log is not what the backup has"
	}
	return "nothing is proved: there are no heads"
}
