// Package money defines the decimals of currencies. An amount is an integer in minor units of its currency (ISO 4217),
// as the payment provider counts them.
package money

import (
	"fmt"
	"slices"
	"strings"
)

// Currencies whose minor unit is not a hundredth, from https://docs.stripe.com/currencies#minor-units. Libraries have
// other lists: Unicode's has no minor units of pesos and rupees, which the provider charges. ISK and UGX have none any
// more, but the provider counts them in hundredths.
var (
	withoutDecimals = strings.Fields("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf")
	threeDecimals   = strings.Fields("bhd jod kwd omr tnd")
)

// Decimals returns the number of decimals of an amount in a currency: 2 in dollars, 0 in yen, 3 in Kuwaiti dinars.
func Decimals(currency string) int {
	switch currency = strings.ToLower(currency); {
	case slices.Contains(withoutDecimals, currency):
		return 0
	case slices.Contains(threeDecimals, currency):
		return 3
	}
	return 2
}

// MinorUnits returns the number of minor units in a unit of a currency: 100 cents in a dollar, 1 in a yen.
func MinorUnits(currency string) int64 { return []int64{1, 10, 100, 1000}[Decimals(currency)] }

// Format returns an amount in minor units for people, such as "10.00 USD".
func Format(amount int64, currency string) string {
	sign := ""
	if amount < 0 {
		sign, amount = "-", -amount
	}
	text, decimals := strings.ToUpper(currency), Decimals(currency)
	if decimals == 0 {
		return fmt.Sprintf("%s%d %s", sign, amount, text)
	}
	unit := MinorUnits(currency)
	return fmt.Sprintf("%s%d.%0*d %s", sign, amount/unit, decimals, amount%unit, text)
}
