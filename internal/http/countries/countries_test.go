package countries_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/countries"
)

// database writes a file of a type, with a few networks.
func database(t *testing.T, kind string) string {
	t.Helper()
	tree, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: kind, IncludeReservedNetworks: true})
	require.NoError(t, err)
	for network, code := range map[string]string{"192.0.2.0/24": "NL", "2001:db8::/32": "JP"} {
		_, ipNet, err := net.ParseCIDR(network)
		require.NoError(t, err)
		require.NoError(t, tree.Insert(ipNet, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String(code)}}))
	}
	path := filepath.Join(t.TempDir(), "countries.mmdb")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	_, err = tree.WriteTo(file)
	require.NoError(t, err)
	return path
}

func TestTheCountryOfAnAddress(t *testing.T) {
	for _, kind := range []string{"GeoLite2-Country", "DBIP-Country-Lite"} {
		db, err := countries.Open(database(t, kind))
		require.NoError(t, err)
		for address, country := range map[string]string{
			"192.0.2.7": "NL", "2001:db8::1": "JP", "198.51.100.1": "", "127.0.0.1": "", "fe80::1%eth0": "", "": "",
			"nonsense": "",
		} {
			require.Equal(t, country, db.Of(address), address)
		}
		require.NoError(t, db.Close())
	}
}

func TestWithoutADatabaseNoCountryIsKnown(t *testing.T) {
	db, err := countries.Open("")
	require.NoError(t, err)
	require.Empty(t, db.Of("192.0.2.7"))
	require.NoError(t, db.Close())
}

func TestAnInvalidDatabaseIsRefused(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.mmdb")
	require.NoError(t, os.WriteFile(broken, []byte("nothing of use"), 0o600))
	for _, path := range []string{broken, broken + ".missing", database(t, "GeoLite2-ASN")} {
		_, err := countries.Open(path)
		require.Error(t, err)
	}
}
