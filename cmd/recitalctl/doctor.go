package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/recital-tts/recital/internal/datafolder"
)

// doctor checks for possible problems one after the other, and continues after one so that all are reported.
type doctor struct {
	HTTPAddr string `name:"http-addr" env:"RECITAL_HTTP_ADDR" placeholder:"HOST:PORT" help:"Public address of the recitald; by default that of the one that runs in the data folder, else 127.0.0.1:8080."`
}

// Validate is called by kong.
func (d *doctor) Validate() error {
	if err := checkAddress(d.HTTPAddr); d.HTTPAddr != "" && err != nil {
		return fmt.Errorf("the public address %q: %w", d.HTTPAddr, err)
	}
	return nil
}

// Run prints a line for each check. The exit code is that of the first problem.
func (d *doctor) Run(ctx context.Context, s settings, to terminal) error {
	d.HTTPAddr = cmp.Or(d.HTTPAddr, datafolder.Find(s.DataDir).Public, "127.0.0.1:8080")
	var first error
	for _, check := range []struct {
		what string
		run  func(context.Context, settings) error
	}{
		{"the operator token can be read", d.token},
		{"the token is for its owner only", d.tokenMode},
		{"the admin address answers and accepts the token", d.admin},
		{"the public address answers", d.public},
		{"requests can be served", d.ready},
		{"clips can be saved and played", d.blobs},
	} {
		err := check.run(ctx, s)
		switch {
		case errors.Is(err, errSkipped):
			fmt.Fprintf(to.out, "skipped  %s\n", check.what)
		case err != nil:
			fmt.Fprintf(to.out, "FAULT    %s\n         %v\n", check.what, err)
			first = errors.Join(first, err)
		default:
			fmt.Fprintf(to.out, "ok       %s\n", check.what)
		}
	}
	if first != nil {
		return fail(exitCode(first), "something is wrong, see above")
	}
	return nil
}

// errSkipped is returned by a check that depends on an earlier one that failed.
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

// admin requests the metrics: an operator may read them, and nothing is changed.
func (d *doctor) admin(ctx context.Context, s settings) error {
	token, missing := s.token()
	admin := &client{settings: s, token: token, http: newHTTPClient(s)}
	got, err := admin.do(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return err
	}
	if missing != nil {
		return errSkipped // that something responds is not sufficient
	}
	return admin.refusal(got)
}

func (d *doctor) public(ctx context.Context, s settings) error {
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

// blobs finds in the metrics whether the store of the clips' audio has answered when it was asked last, at most a minute ago.
// Without it recitald is ready all the same.
func (d *doctor) blobs(ctx context.Context, s settings) error {
	token, missing := s.token()
	admin := &client{settings: s, token: token, http: newHTTPClient(s)}
	got, err := admin.do(ctx, http.MethodGet, "/metrics", nil)
	if missing != nil || err != nil || admin.refusal(got) != nil {
		return errSkipped
	}
	if strings.Contains(string(got.body), "\nrecital_blob_store_answers 0\n") {
		return fail(exitFailed, "the blob store does not answer, so clips are neither saved nor played, and all else goes on; recitald's log says why (RECITAL_BLOBS, RECITAL_S3_ACCESS_KEY)")
	}
	return nil
}

// unready returns why a recitald is not ready, from the body of its ready_check.
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
		return answer{}, fail(exitUsage, "the public address %q is not one", d.HTTPAddr)
	}
	return send(newHTTPClient(s), request)
}
