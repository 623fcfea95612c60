package quota

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

var one, two, three = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"),
	netip.MustParseAddr("192.0.2.3")

func TestABudgetIsDividedAmongAddresses(t *testing.T) {
	b := New(10, 6)
	first, err := b.Take(one, 6)
	require.NoError(t, err)
	_, err = b.Take(one, 1)
	require.ErrorIs(t, err, ErrShare)
	_, err = b.Take(two, 4)
	require.NoError(t, err)
	_, err = b.Take(three, 1)
	require.ErrorIs(t, err, ErrFull)

	// when a part is released, it can be taken again
	first.Shrink(5)
	first.Shrink(6) // does not grow
	_, err = b.Take(three, 2)
	require.ErrorIs(t, err, ErrFull)
	_, err = b.Take(three, 1)
	require.NoError(t, err)

	// and a second release has no effect
	first.Release()
	first.Release()
	_, err = b.Take(three, 5)
	require.NoError(t, err)
	_, err = b.Take(two, 1)
	require.ErrorIs(t, err, ErrFull)
	require.Len(t, b.held, 2, "addresses without a share are removed")
}

func TestPeers(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1":                "192.0.2.1",
		"::ffff:192.0.2.1":         "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":     "2001:db8:1:2::",
		"2001:db8:1:2:ffff::":      "2001:db8:1:2::",
		"fe80::1%eth0":             "fe80::",
		"::1":                      "::",
		"2001:db8:1:3:3:4:5:6%any": "2001:db8:1:3::",
	} {
		addr := netip.MustParseAddr(address)
		got := Client(Address(&net.TCPAddr{IP: addr.AsSlice(), Zone: addr.Zone()}))
		require.Equal(t, want, got.String(), address)
	}
	require.Equal(t, netip.Addr{}, Client(Address(&net.UnixAddr{Name: "@"})))
}
