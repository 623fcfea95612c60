package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"

	"github.com/recital-tts/recital/domain/money"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/providers/payments"
)

// catalogueFile is what is to be on sale. Amounts are in minor units of the currency.
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
	Amount        int64  `json:"amount"`         // a month
	OverageMillis int64  `json:"overage_millis"` // thousandths of a minor unit for overage_unit characters past the plan
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
		return nil, fmt.Errorf("it is not one, as recitalctl payments --help shows it: %w", err)
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

// check refuses what the provider or recitald could not use. seen has the plans and currencies before.
func (p catalogueProduct) check(seen map[string]bool) error {
	if known, err := plan.Lookup(p.Plan); err != nil || known.Type == plan.Free {
		return fmt.Errorf("%q is no plan that can be bought", p.Plan)
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

// mostMinor is the highest amount of a charge at the provider.
const mostMinor = 99_999_999

func (p cataloguePrice) check() error {
	switch {
	case !currencyCode.MatchString(p.Currency):
		return errors.New("a currency is three small letters, such as usd")
	case p.Amount <= 0 || p.Amount > mostMinor:
		return fmt.Errorf("the amount must be from 1 to %d minor units", mostMinor)
	case money.Decimals(p.Currency) == 3 && p.Amount%10 != 0:
		return errors.New("the provider takes amounts with three decimals only if the last one is 0")
	case p.OverageMillis < 0 || p.OverageUnit < 0 || (p.OverageMillis == 0) != (p.OverageUnit == 0):
		return errors.New("overage_millis and overage_unit must both be above 0, or both left out")
	case p.OverageMillis > 1<<31-1 || p.OverageUnit > 1<<31-1:
		return errors.New("overage_millis and overage_unit must be below 2147483648")
	}
	return nil
}

// of returns a price as the provider has it. Without metadata, characters past the plan cost nothing.
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

// wasLost reports whether a file of a secret is empty: a run that was cut has made it before it had the secret. One
// with a content is never overwritten.
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

// openSecret creates the file of a secret, or opens one that is empty, for its owner only.
func openSecret(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fail(exitFailed, "the file for the secret: %w", err)
	}
	info, err := file.Stat()
	if err == nil && (info.Size() > 0 || !info.Mode().IsRegular()) {
		err = fmt.Errorf("%s has a content, which is not overwritten", path)
	}
	if err == nil {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(fail(exitFailed, "the file for the secret: %w", err), file.Close())
	}
	return file, nil
}
