package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/process/health"
	"github.com/recital-tts/recital/internal/providers/payments"
	"github.com/recital-tts/recital/internal/providers/payments/stripe"
	"github.com/recital-tts/recital/internal/providers/signin"
)

type paymentCommands struct {
	Setup paymentsSetup `cmd:"" help:"${payments_setup}"`
	Check paymentsCheck `cmd:"" help:"${payments_check}"`
}

// Help implements kong.HelpProvider.
func (paymentCommands) Help() string {
	return `The account at the payment provider, Stripe. Its key is recitald's, from RECITAL_STRIPE_KEY or from the
file in RECITAL_STRIPE_KEY_FILE, and never on the command line. A key of test mode only changes test mode. recitald
need not be running. In mode dev without a key there is nothing to set up: the sandbox has what it needs.

Examples:
  recitalctl payments check                                check the account; changes nothing
  recitalctl payments setup --catalogue plans.json --secret-file whsec --plan
                                                           print missing steps; exits with 1 if there are any
  recitalctl payments setup --catalogue plans.json --secret-file whsec
                                                           the same, and carry them out after confirmation
  recitalctl payments setup --catalogue plans.json --yes   for programs: without confirmation

The catalogue is a file such as
  {"products": [{"plan": "indie", "name": "Indie", "prices": [
    {"currency": "usd", "amount": 1000, "overage_millis": 5000, "overage_unit": 1000}]}]}
where 1000 are 10.00 dollars a month, and each 1,000 characters past the plan cost 5,000 thousandths of a cent. Amounts
at Stripe never change: another amount is another price. Archive the old price there yourself.

Exit codes: 0 nothing is missing, 1 something is missing or was refused, 2 wrong usage, 3 the provider does not answer,
4 there is no key, the provider does not accept it, or it lacks a permission.`
}

// paymentsAccess configures access to the payment provider. Its flags have the names of recitald's settings.
type paymentsAccess struct {
	StripeURL     string `env:"RECITAL_STRIPE_URL" placeholder:"https://HOST" help:"${payments_url}"`
	StripeKeyFile string `env:"RECITAL_STRIPE_KEY_FILE" placeholder:"PATH" help:"${payments_key_file}"`
	PublicURL     string `env:"RECITAL_PUBLIC_URL" placeholder:"https://HOST" help:"${payments_public_url}"`
}

// Validate implements kong's check of arguments.
func (a paymentsAccess) Validate() error {
	for what, address := range map[string]string{"payment provider's": a.StripeURL, "public": a.PublicURL} {
		u, err := url.Parse(address)
		if address != "" && (err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
			u.Scheme != "https" && (u.Scheme != "http" || !signin.IsLoopback(u.Host))) {
			return fmt.Errorf("the %s URL must be https://HOST, or http://HOST:PORT on this machine", what)
		}
	}
	return nil
}

// endpoint returns the URL of recitald's webhooks, or "" if the public URL is unknown.
func (a paymentsAccess) endpoint() string {
	if a.PublicURL == "" {
		return ""
	}
	return strings.TrimRight(a.PublicURL, "/") + "/payments/webhook"
}

// gateway returns a client of the payment provider. The caller must close it.
func (a paymentsAccess) gateway(s settings) (*stripe.Gateway, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	return stripe.New(stripe.Config{Key: key, URL: a.StripeURL, Timeout: s.Timeout})
}

// key returns the provider's key. No error or output may contain it.
func (a paymentsAccess) key() (string, error) {
	key := os.Getenv("RECITAL_STRIPE_KEY")
	if key != "" && a.StripeKeyFile != "" {
		return "", fail(exitUsage, "the key is set twice, in RECITAL_STRIPE_KEY and as a file")
	}
	if a.StripeKeyFile != "" {
		content, err := os.ReadFile(a.StripeKeyFile)
		if err != nil {
			return "", fail(exitToken, "reading the key of the payment provider: %w", err)
		}
		key = string(content)
	}
	if key = strings.TrimSpace(key); key == "" || strings.ContainsFunc(key, unfitForHeader) {
		return "", fail(exitToken, "there is no key of the payment provider: set RECITAL_STRIPE_KEY_FILE, or "+
			"RECITAL_STRIPE_KEY, as for recitald")
	}
	return key, nil
}

// ofProvider adds the exit code to an error of the payment provider.
func ofProvider(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, stripe.ErrKey):
		return fail(exitToken, "%w", err)
	case errors.Is(err, payments.ErrUnavailable):
		return failForNow(exitUnreachable, "%w", err)
	}
	return fail(exitFailed, "%w", err)
}

type paymentsCheck struct {
	paymentsAccess
	valueForm
}

// Run prints the findings.
func (c *paymentsCheck) Run(ctx context.Context, s settings, to terminal) error {
	g, err := c.gateway(s)
	if err != nil {
		return err
	}
	defer g.Close()
	results, err := g.Examine(ctx, c.endpoint())
	if err != nil {
		return ofProvider(err)
	}
	if c.endpoint() == "" {
		results = append(results, health.Result{Check: "notices are sent to recitald", State: skipped,
			Found: "set RECITAL_PUBLIC_URL, or give it with --public-url"})
	}
	err = printResults(c.Format, to, results, results)
	bad := func(r health.Result) bool { return r.State == health.Fault || r.State == health.Warning }
	if err == nil && slices.ContainsFunc(results, bad) {
		return fail(exitFailed, "something is missing, see above")
	}
	return err
}

type paymentsSetup struct {
	paymentsAccess
	valueForm
	Catalogue  string `placeholder:"FILE" help:"${payments_catalogue}"`
	SecretFile string `placeholder:"PATH" help:"${payments_secret_file}"`
	Plan       bool   `help:"Only print the missing steps."`
	Yes        bool   `help:"Do not ask for confirmation."`
}

// Validate implements kong's check of arguments.
func (c *paymentsSetup) Validate() error {
	if err := c.paymentsAccess.Validate(); err != nil {
		return err
	}
	if c.Catalogue == "" && c.PublicURL == "" {
		return errors.New("give --public-url to set up webhooks, or --catalogue to set up products and prices")
	}
	return nil
}

// Run prints the plan, and carries it out after confirmation.
func (c *paymentsSetup) Run(ctx context.Context, s settings, to terminal) error {
	want := stripe.Setup{Endpoint: c.endpoint()}
	var err error
	if c.Catalogue != "" {
		if want.Prices, err = readCatalogue(c.Catalogue); err != nil {
			return fail(exitUsage, "the catalogue %s: %w", c.Catalogue, err)
		}
	}
	if want.SecretLost, err = wasLost(c.SecretFile); err != nil {
		return err
	}
	g, err := c.gateway(s)
	if err != nil {
		return err
	}
	defer g.Close()
	steps, err := g.Plan(ctx, want)
	if err != nil {
		return ofProvider(err)
	}
	return c.carryOut(ctx, g, want, steps, to)
}

func (c *paymentsSetup) carryOut(
	ctx context.Context, g *stripe.Gateway, want stripe.Setup, steps []*stripe.Step, to terminal,
) error {
	due := slices.ContainsFunc(steps, (*stripe.Step).Changes)
	if !due || c.Plan {
		if err := c.show(to, steps); err != nil || !due {
			return err
		}
		return fail(exitFailed, "the account is not complete yet: nothing was changed")
	}
	if err := c.prepare(ctx, steps, to); err != nil {
		return err
	}
	for _, step := range steps {
		if err := c.do(ctx, step, to); err != nil {
			return err
		}
	}
	want.SecretLost = false
	left, err := g.Plan(ctx, want)
	if err != nil {
		return ofProvider(err)
	}
	if err := c.show(to, left); err != nil {
		return err
	}
	if slices.ContainsFunc(left, (*stripe.Step).Changes) {
		return fail(exitFailed, "something is still missing, see above; run it again")
	}
	return nil
}

// prepare prints the plan and asks for confirmation.
func (c *paymentsSetup) prepare(ctx context.Context, steps []*stripe.Step, to terminal) error {
	before := terminal{out: to.notes, wide: to.wide} // out is for the final result
	if err := show(table, before, steps, rowsOf(steps)); err != nil {
		return err
	}
	if slices.ContainsFunc(steps, (*stripe.Step).HasSecret) && c.SecretFile == "" {
		return fail(exitUsage, "the secret of the endpoint is shown once: give a file for it with --secret-file")
	}
	return to.confirm(ctx, c.Yes, "Change the account like this?")
}

// do carries out a step. It creates the file of a secret first, so that the secret is not lost if the file cannot be
// written.
func (c *paymentsSetup) do(ctx context.Context, step *stripe.Step, to terminal) error {
	if !step.Changes() {
		return nil
	}
	if !step.HasSecret() {
		_, err := step.Do(ctx)
		return ofProvider(err)
	}
	file, err := openSecret(c.SecretFile)
	if err != nil {
		return err
	}
	defer file.Close()
	secret, err := step.Do(ctx)
	if err != nil {
		return ofProvider(err) // the file stays as a sign that the endpoint's secret may be lost
	}
	if _, err := file.WriteString(secret + "\n"); err != nil {
		return fail(exitFailed, "the secret could not be written: %w; empty the file and run it again", err)
	}
	fmt.Fprintf(to.notes, "The secret of the webhooks is in %s: set RECITAL_STRIPE_WEBHOOK_SECRET_FILE to it.\n",
		c.SecretFile)
	return cmp.Or(file.Sync(), file.Close())
}

func (c *paymentsSetup) show(to terminal, steps []*stripe.Step) error {
	return show(c.Format, to, steps, rowsOf(steps))
}

// stepRow is a row of the plan.
type stepRow struct {
	Action string `json:"action"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	What   string `json:"what"`
}

func rowsOf(steps []*stripe.Step) (rows []stepRow) {
	for _, s := range steps {
		rows = append(rows, stepRow{s.Action, s.Kind, s.ID, s.What})
	}
	return rows
}

// catalogueFile is the file of products and prices. Amounts are in minor units of the currency.
type catalogueFile struct {
	Products []catalogueProduct `json:"products"`
}

type catalogueProduct struct {
	Plan   plan.Type        `json:"plan"`
	Name   string           `json:"name"`
	Prices []cataloguePrice `json:"prices"`
}

type cataloguePrice struct {
	Currency      string `json:"currency"`
	Amount        int64  `json:"amount"`         // per month
	OverageMillis int64  `json:"overage_millis"` // thousandths of a minor unit per overage_unit characters beyond the plan
	OverageUnit   int64  `json:"overage_unit"`
}

// readCatalogue returns the prices in a file.
func readCatalogue(path string) (prices []payments.Price, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file catalogueFile
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("it is not a catalogue, see recitalctl payments --help: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after its end")
	}
	seen := map[string]bool{}
	for _, product := range file.Products {
		if err := product.check(seen); err != nil {
			return nil, err
		}
		for _, p := range product.Prices {
			prices = append(prices, p.of(product))
		}
	}
	if len(prices) == 0 {
		return nil, errors.New("it has no prices")
	}
	return prices, nil
}

// check returns an error if the provider or recitald could not use the product. seen has the earlier plans and
// currencies.
func (p catalogueProduct) check(seen map[string]bool) error {
	if known, err := plan.Lookup(p.Plan); err != nil || known.Type == plan.Free {
		return fmt.Errorf("plan %q cannot be bought", p.Plan)
	}
	if p.Name == "" || seen[string(p.Plan)] {
		return fmt.Errorf("plan %s needs one product, with a name", p.Plan)
	}
	seen[string(p.Plan)] = true
	for _, price := range p.Prices {
		key := string(p.Plan) + "/" + price.Currency
		if err := price.check(); err != nil || seen[key] {
			return fmt.Errorf("plan %s in %q: %w", p.Plan, price.Currency, orTwice(err))
		}
		seen[key] = true
	}
	return nil
}

func orTwice(err error) error {
	if err == nil {
		return errors.New("there are two prices")
	}
	return err
}

var currencyCode = regexp.MustCompile(`^[a-z]{3}$`)

// maxMinor is the provider's maximum amount of a charge.
const maxMinor = 99_999_999

func (p cataloguePrice) check() error {
	switch {
	case !currencyCode.MatchString(p.Currency):
		return errors.New("a currency has three lower-case letters, such as usd")
	case p.Amount <= 0 || p.Amount > maxMinor:
		return fmt.Errorf("the amount must be from 1 to %d minor units", maxMinor)
	case money.Decimals(p.Currency) == 3 && p.Amount%10 != 0:
		return errors.New("the provider accepts amounts with three decimals only if the last one is 0")
	case p.OverageMillis < 0 || p.OverageUnit < 0 || (p.OverageMillis == 0) != (p.OverageUnit == 0):
		return errors.New("overage_millis and overage_unit must both be above 0, or both omitted")
	case p.OverageMillis > 1<<31-1 || p.OverageUnit > 1<<31-1:
		return errors.New("overage_millis and overage_unit must be below 2147483648")
	}
	return nil
}

// of returns the price in the provider's form. Without metadata, characters beyond the plan are free.
func (p cataloguePrice) of(product catalogueProduct) payments.Price {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return payments.Price{
		Product: product.Name, Amount: p.Amount, Currency: p.Currency, Metadata: map[string]string{
			payments.MetadataPlan:          string(product.Plan),
			payments.MetadataOverageMillis: number(p.OverageMillis),
			payments.MetadataOverageUnit:   number(p.OverageUnit),
		},
	}
}

// wasLost reports whether the file of a secret is empty, because an interrupted run created it before it got the
// secret. A file that is not empty is never overwritten.
func wasLost(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fail(exitFailed, "the file for the secret: %w", err)
	}
	return info.Mode().IsRegular() && info.Size() == 0, nil
}

// openSecret creates the file of a secret, or opens an empty one, with mode 0600.
func openSecret(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fail(exitFailed, "the file for the secret: %w", err)
	}
	info, err := file.Stat()
	if err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) {
		err = fmt.Errorf("%s is not empty, and is not overwritten", path)
	}
	if err == nil {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(fail(exitFailed, "the file for the secret: %w", err), file.Close())
	}
	return file, nil
}
