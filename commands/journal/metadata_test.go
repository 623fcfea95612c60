package journal_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

const address = "203.0.113.7"

// owner returns the origin of a command by the owner of an account from the address.
func owner(account string) journal.Origin {
	return journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: account},
		Client: netip.MustParseAddr(address)}
}

// sealing is a world whose journal seals addresses with a real keyring.
type sealing struct {
	*world
	pool     *pgxpool.Pool
	keys     *pgkeys.Keyring
	unsealed []error
	appended [][]eventlog.Proposed
}

func newSealing(t testing.TB) *sealing {
	t.Helper()
	s := &sealing{world: newWorld(t), pool: pgtest.New(t)}
	var err error
	s.keys, err = pgkeys.New(pgkeys.Config{Pool: s.pool,
		MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.Keys, s.Unsealed = s.keys, func(err error) { s.unsealed = append(s.unsealed, err) }
	return s
}

// does executes a command, and returns its event.
func (s *sealing) does(origin journal.Origin) eventlog.Decoded {
	s.t.Helper()
	_, _, err := journal.Execute(s.t.Context(), s.Journal, whole("counter-a"), add{uuid.NewString(), 1},
		origin.Metadata(uuid.New(), noon))
	require.NoError(s.t, err)
	return s.recorded("counter-a")[len(s.recorded("counter-a"))-1]
}

// keyCount counts the keys of accounts.
func (s *sealing) keyCount() (count int) {
	s.t.Helper()
	require.NoError(s.t, s.pool.QueryRow(s.t.Context(), `select count(*) from keyring.account_keys`).Scan(&count))
	return count
}

func TestACommandSaysWhereItCameFromToWhoeverHasTheAccountsKey(t *testing.T) {
	s := newSealing(t)
	event := s.does(owner("a1"))
	opened, err := s.keys.Open(t.Context(), "a1", event.Meta.From, eventlog.FromUse(event.Meta.CommandID))
	require.NoError(t, err)
	require.Equal(t, address, string(opened))
	require.NotContains(t, string(event.Metadata), address)

	// and it is sealed for this command alone
	_, err = s.keys.Open(t.Context(), "a1", event.Meta.From, eventlog.FromUse(s.does(owner("a1")).Meta.CommandID))
	require.ErrorIs(t, err, keyring.ErrUnreadable)
	require.Empty(t, s.unsealed)
}

func TestNoAddressIsRecordedWhereNoneBelongs(t *testing.T) {
	for name, origin := range map[string]journal.Origin{
		"the service": {Actor: journal.System().Actor, Client: netip.MustParseAddr(address)},
		"an operator": {Actor: eventlog.Actor{Kind: eventlog.ActorOperator, Name: "ada"},
			Client: netip.MustParseAddr(address)},
		"nobody known":      {Actor: eventlog.Actor{Kind: eventlog.ActorAccount}, Client: netip.MustParseAddr(address)},
		"a unix socket":     {Actor: owner("a1").Actor},
		"synthesis":         owner("a1").WithoutClient(),
		"an erased account": owner("erased"),
		"one who signs in":  owner("").As("erased"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSealing(t)
			require.NoError(t, s.keys.Erase(t.Context(), "erased"))
			event := s.does(origin)
			require.Nil(t, event.Meta.From)
			require.NotContains(t, string(event.Metadata), "from")
			require.NotContains(t, string(event.Metadata), address)
			require.Equal(t, 1, s.keyCount(), "no key is made for it")
			require.Empty(t, s.unsealed)
		})
	}
}

// The account of a new person is known only after the identity was read.
func TestACommandThatDecidesNothingMakesNoKey(t *testing.T) {
	s := newSealing(t)
	s.does(journal.System())
	_, _, err := journal.Execute(t.Context(), s.Journal, whole("counter-a"), add{"many", limit + 1},
		owner("").As("drawn").Metadata(uuid.New(), noon))
	require.ErrorIs(t, err, errLimit)
	require.Zero(t, s.keyCount())
	s.does(owner("").As("a1"))
	require.Equal(t, 1, s.keyCount())
}

// Each sealing results in another ciphertext: a repeated append, after a lost response or a conflict, has the first
// one.
func TestARepeatedAppendIsTheSameByteForByte(t *testing.T) {
	s := newSealing(t)
	s.Log = capturing{s.log, s}
	command := owner("a1").Metadata(uuid.New(), noon)
	s.log.lost = true
	_, _, err := journal.Execute(t.Context(), s.Journal, whole("counter-a"), add{"mine", 1}, command)
	require.ErrorIs(t, err, eventlog.ErrUnavailable)
	s.log.lost = false
	_, _, err = journal.NewCached(s.Journal, whole("counter-a")).Execute(t.Context(), add{"another", 1}, command)
	require.NoError(t, err)
	require.Len(t, s.appended, 2)
	require.Equal(t, s.appended[0][0].Metadata, s.appended[1][0].Metadata)
	require.Contains(t, string(s.appended[0][0].Metadata), `"from":"`)

	s.log.before = sync.OnceFunc(func() {
		_, _, err := journal.Execute(t.Context(), s.other(), whole("counter-a"), add{"other", 1}, meta())
		assert.NoError(t, err)
	})
	_, _, err = journal.Execute(t.Context(), s.Journal, whole("counter-a"), add{"later", 1},
		owner("a1").Metadata(uuid.New(), noon))
	require.NoError(t, err)
	require.Len(t, s.appended, 4)
	require.Equal(t, s.appended[2][0].Metadata, s.appended[3][0].Metadata)
	require.NotEqual(t, s.appended[0][0].Metadata, s.appended[2][0].Metadata)
}

// capturing records the proposed events.
type capturing struct {
	eventlog.Log
	s *sealing
}

func (c capturing) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
	c.s.appended = append(c.s.appended, slices.Clone(events))
	return c.Log.Append(ctx, stream, expected, events)
}

// An owner can revoke a key while the keyring does not respond.
func TestACommandIsCarriedOutWithoutItsAddressWhileTheKeyringIsAway(t *testing.T) {
	for name, disturb := range map[string]func(s *sealing){
		"it refuses": func(s *sealing) { s.pool.Close() },
		"it hangs": func(s *sealing) {
			tx, err := s.pool.Begin(s.t.Context())
			require.NoError(s.t, err)
			s.t.Cleanup(func() { assert.NoError(s.t, tx.Rollback(context.Background())) })
			_, err = tx.Exec(s.t.Context(), `lock table keyring.account_keys in access exclusive mode`)
			require.NoError(s.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSealing(t)
			disturb(s)
			event := s.does(owner("a1"))
			require.Nil(t, event.Meta.From)
			require.NotContains(t, string(event.Metadata), address)
			require.Len(t, s.unsealed, 1)
			require.NotContains(t, s.unsealed[0].Error(), address)
		})
	}
}
