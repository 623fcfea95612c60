package money_test

import (
	"testing"

	"github.com/recital-tts/recital/domain/money"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		amount   int64
		currency string
		want     string
	}{
		{1000, "usd", "10.00 USD"}, {-5, "usd", "-0.05 USD"}, {0, "eur", "0.00 EUR"},
		{1500, "jpy", "1500 JPY"}, {4250, "kwd", "4.250 KWD"}, {7, "KWD", "0.007 KWD"},
		{150000, "idr", "1500.00 IDR"}, {10000, "ugx", "100.00 UGX"},
	} {
		if got := money.Format(c.amount, c.currency); got != c.want {
			t.Errorf("Format(%d, %q) = %q, want %q", c.amount, c.currency, got, c.want)
		}
	}
}

func TestMinorUnits(t *testing.T) {
	for currency, want := range map[string]int64{"usd": 100, "JPY": 1, "kwd": 1000, "pkr": 100, "huf": 100} {
		if got := money.MinorUnits(currency); got != want {
			t.Errorf("MinorUnits(%q) = %d, want %d", currency, got, want)
		}
	}
}
