package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/process/datafolder"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/process/release"
)

// doctor runs all checks, even after a failed one.
type doctor struct {
	HTTPAddr  string        `name:"http-addr" env:"RECITAL_HTTP_ADDR" placeholder:"HOST:PORT" help:"${doctor_httpaddr}"`
	Backup    string        `placeholder:"DIR" help:"Folder of a backup, to check its age."`
	BackupAge time.Duration `default:"26h" help:"Maximum age of the backup."`
	Format    format        `default:"table" enum:"table,json" help:"Form of the result: table or json."`

	inner        adminapi.Examination // of recitald itself; without findings if recitald did not respond
	begun, ended time.Time            // of the request for inner
}

// Help implements kong.HelpProvider.
func (*doctor) Help() string {
	return `A check is "ok", a "warning" if clients are not affected yet, or a "FAULT" if they are or soon will be. Below a
warning or fault is what to do. A "skipped" check depends on an earlier fault. The exit code is the first fault's, or 0
if there is none.`
}

// Validate implements kong's check of arguments.
func (d *doctor) Validate() error {
	if err := checkAddress(d.HTTPAddr); d.HTTPAddr != "" && err != nil {
		return fmt.Errorf("the public address %q: %w", d.HTTPAddr, err)
	}
	return nil
}

// skipped is the state of a check that depends on a failed one.
const skipped health.State = "skipped"

// outerCheck is a check that recitalctl makes itself.
type outerCheck struct {
	what string
	run  func(context.Context, settings) error
}

// result runs the check. It returns an error if the finding is a fault.
func (c outerCheck) result(ctx context.Context, s settings) (health.Result, error) {
	err := c.run(ctx, s)
	switch {
	case errors.Is(err, errSkipped):
		reason, _ := strings.CutPrefix(err.Error(), errSkipped.Error())
		return health.Result{Check: c.what, State: skipped, Found: strings.TrimPrefix(reason, ": ")}, nil
	case err != nil:
		return health.Result{Check: c.what, State: health.Fault, Found: err.Error()}, err
	}
	return health.Result{Check: c.what, State: health.OK}, nil
}

// Run prints the findings. Its exit code is the first fault's.
func (d *doctor) Run(ctx context.Context, s settings, to terminal) error {
	d.ask(ctx, s)
	d.HTTPAddr = cmp.Or(d.HTTPAddr, d.publicAddr(s))
	var all adminapi.Examination
	var first error
	checks := []outerCheck{
		{"the operator token can be read", d.token},
		{"the token is for its owner only", d.tokenMode},
		{"the admin address answers and accepts the token", d.admin},
		{"the public address answers", d.public},
		{"requests can be served", d.ready},
	}
	if d.Backup != "" {
		checks = append(checks, outerCheck{"the backup is recent", d.backup})
	}
	for _, check := range checks {
		result, err := check.result(ctx, s)
		all.Findings = append(all.Findings, result)
		first = cmp.Or(first, err)
	}
	if err := d.inside(s, &all); err != nil {
		first = cmp.Or(first, err)
	}
	if err := printResults(d.Format, to, all, all.Findings); err != nil || first == nil {
		return err
	}
	return fail(exitCode(first), "something is wrong, see above")
}

// ask requests recitald's own checks.
func (d *doctor) ask(ctx context.Context, s settings) {
	admin, err := newClient(s)
	if err != nil {
		return // a finding reports the token
	}
	d.begun = time.Now()
	d.inner, _ = get[adminapi.Examination](ctx, admin, "asking recitald", "/admin/doctor") // a finding reports errors
	d.ended = time.Now()
}

// publicAddr returns the public address of the recitald at the admin address, or "" if it is unknown, because another
// recitald may use the default address.
func (d *doctor) publicAddr(s settings) string {
	if there := datafolder.Find(s.DataDir); there.Admin == s.AdminAddr {
		return there.Public
	}
	for _, setting := range d.inner.Settings {
		if strings.TrimLeft(setting.Flag, "-") != "http-addr" {
			continue
		}
		host, port, err := net.SplitHostPort(setting.Value)
		if err != nil || port == "0" {
			return ""
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host, _, _ = net.SplitHostPort(s.AdminAddr)
		}
		return net.JoinHostPort(host, port)
	}
	return ""
}

// inside adds recitald's own findings. It returns an error if one of them is a fault.
func (d *doctor) inside(s settings, all *adminapi.Examination) error {
	if _, err := s.token(); err != nil {
		return nil // a finding reports the token
	}
	if d.inner.Findings == nil {
		all.Findings = append(all.Findings, health.Result{Check: "recitald examines itself", State: skipped})
		return nil // a finding reports the admin address
	}
	outer := append(all.Findings, ofClocks(d.begun, d.ended, d.inner.At), ofVersions(d.inner.Version))
	*all = d.inner
	all.Findings = slices.Concat(outer, d.inner.Findings)
	if slices.ContainsFunc(d.inner.Findings, func(r health.Result) bool { return r.State == health.Fault }) {
		return fail(exitFailed, "recitald has found a fault")
	}
	return nil
}

// clockSkew is the tolerated difference of clocks.
const clockSkew = 2 * time.Second

func ofClocks(begun, ended, theirs time.Time) health.Result {
	r := health.Result{Check: "its clock agrees with this machine's", State: health.OK}
	if theirs.Before(begun.Add(-clockSkew)) || theirs.After(ended.Add(clockSkew)) {
		r.State, r.Found = health.Warning, "it is "+theirs.Sub(ended).Round(time.Second).String()+" apart"
		r.Advice = "keep the clocks of all machines together (chrony, systemd-timesyncd)"
	}
	return r
}

// ofVersions compares the release and commit of recitald with those of this recitalctl.
func ofVersions(theirs string) health.Result {
	r := health.Result{Check: "its release is that of this recitalctl", State: health.OK, Found: theirs}
	if ours := release.Build(); theirs != ours {
		r.State, r.Found = health.Warning, "recitald is "+theirs+", recitalctl "+ours
		r.Advice = "use the recitalctl of its release: it refuses unknown commands"
	}
	return r
}

// printResults prints value as JSON, or its results for people. Below a warning or fault are the finding and the
// advice.
func printResults(f format, to terminal, value any, results []health.Result) error {
	if f == jsonValue {
		return f.print(to, value, nil, nil)
	}
	var text strings.Builder
	for _, r := range results {
		switch {
		case r.State == health.OK && r.Found != "":
			fmt.Fprintf(&text, "%-8s %s: %s\n", r.State, r.Check, printable(r.Found))
			continue
		case r.State == health.Fault:
			fmt.Fprintf(&text, "FAULT    %s\n", r.Check)
		default:
			fmt.Fprintf(&text, "%-8s %s\n", r.State, r.Check)
		}
		for _, line := range []string{r.Found, r.Advice} {
			if line != "" {
				fmt.Fprintf(&text, "         %s\n", printable(line))
			}
		}
	}
	_, err := io.WriteString(to.out, text.String())
	return err
}

// backup checks the age of the last complete run in the backup's manifest.
func (d *doctor) backup(context.Context, settings) error {
	content, err := os.ReadFile(filepath.Join(d.Backup, "manifest.json"))
	if err != nil {
		return fail(exitFailed, "there is no complete backup in %s: %w; run recitalctl backup", d.Backup, err)
	}
	var manifest struct {
		Begun time.Time `json:"begun"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil || manifest.Begun.IsZero() {
		return fail(exitFailed, "the manifest in %s cannot be read; run recitalctl backup %[1]s --check-only", d.Backup)
	}
	if age := time.Since(manifest.Begun); age > d.BackupAge {
		return fail(exitFailed, "the last complete backup is %s old; "+
			"see why the later ones failed, and run recitalctl backup", age.Round(time.Minute))
	}
	return nil
}

// errSkipped is returned by a check that depends on a failed one.
var errSkipped = errors.New("skipped")

func (d *doctor) token(_ context.Context, s settings) error {
	_, err := s.token()
	return err
}

func (d *doctor) tokenMode(_ context.Context, s settings) error {
	info, err := os.Stat(s.tokenPath())
	if err != nil {
		return errSkipped
	}
	if others := info.Mode().Perm() & 0o077; others != fs.FileMode(0) {
		return fail(exitToken, "others may read or change %s; run chmod 600 on it", s.tokenPath())
	}
	return nil
}

// admin requests the metrics, which an operator may read and which changes nothing.
func (d *doctor) admin(ctx context.Context, s settings) error {
	token, missing := s.token()
	admin := &client{settings: s, token: token, http: newHTTPClient(s)}
	got, err := admin.do(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return err
	}
	if missing != nil {
		return errSkipped // a response without a token proves nothing
	}
	return admin.refusal(got)
}

func (d *doctor) public(ctx context.Context, s settings) error {
	if d.HTTPAddr == "" {
		return fmt.Errorf("%w: the public address of the recitald on %s is not known; give it with --http-addr", errSkipped,
			s.AdminAddr)
	}
	got, err := d.get(ctx, s, "/health_check")
	if err == nil && got.status != http.StatusOK {
		return fail(exitFailed, "%s is not the public address of a recitald; give it with --http-addr", d.HTTPAddr)
	}
	return err
}

func (d *doctor) ready(ctx context.Context, s settings) error {
	if d.public(ctx, s) != nil {
		return errSkipped
	}
	got, err := d.get(ctx, s, "/ready_check")
	if err == nil && got.status != http.StatusOK {
		return fail(exitFailed, "recitald runs but cannot serve: %s", unready(got.body))
	}
	return err
}

// unready returns why recitald is not ready, given the body of its ready_check.
func unready(body []byte) string {
	var told struct {
		Status  string   `json:"status"`
		Missing []string `json:"missing"`
	}
	err := json.Unmarshal(body, &told)
	switch {
	case err == nil && len(told.Missing) > 0:
		return "it lacks " + printable(strings.Join(told.Missing, ", "))
	case err == nil && told.Status != "":
		return "it is " + printable(told.Status)
	}
	return explanation(body)
}

func (d *doctor) get(ctx context.Context, s settings, path string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.HTTPAddr+path, nil)
	if err != nil {
		return answer{}, fail(exitUsage, "the public address %q is invalid", d.HTTPAddr)
	}
	return send(newHTTPClient(s), request)
}
