package session_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/session"
	"github.com/recital-tts/recital/domain/spec"
)

type (
	row    = spec.Case[session.State, session.Event]
	events = []session.Event
)

const day = 24 * time.Hour

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func opened() session.Event {
	return session.Opened{Session: "s1", Account: "a1", SecretHash: "h1", Provider: "idp_1", CrossSite: true,
		ExpiresAt: noon.Add(30 * day), At: noon}
}

func rotated(former, hash string, at time.Time) session.Event {
	return session.Rotated{
		Session: "s1", Account: "a1", SecretHash: hash, FormerHash: former, CrossSite: true, OpenedAt: noon,
		ExpiresAt: noon.Add(30 * day), At: at,
	}
}

func seen(at time.Time) session.Event { return session.Seen{Session: "s1", Account: "a1", At: at} }

func ended(reason session.Reason, at time.Time) session.Event {
	return session.Ended{Session: "s1", Account: "a1", Reason: reason, At: at}
}

func TestOpen(t *testing.T) {
	open := session.Open(opened().(session.Opened))
	other, brief := open, open
	other.SecretHash, brief.ExpiresAt = "h2", noon
	spec.Run(t, session.Evolve, []row{
		{Name: "a session opens", When: open, Then: events{opened()}},
		{Name: "opening it again changes nothing", Given: events{opened()}, When: open},
		{Name: "an id is not used twice", Given: events{opened()}, When: other, Refused: domain.Conflict},
		{Name: "it needs an account", When: session.Open{Session: "s1", SecretHash: "h1", At: noon, ExpiresAt: noon.Add(1)},
			Refused: domain.Invalid},
		{Name: "it needs time", When: brief, Refused: domain.Invalid},
	})
}

func TestUse(t *testing.T) {
	use := func(shown string, after time.Duration) session.Use {
		return session.Use{Shown: shown, Next: "h9", Rotate: day, At: noon.Add(after)}
	}
	past := func(more ...session.Event) events { return append(events{opened()}, more...) }
	tomorrow := noon.Add(day)
	spec.Run(t, session.Evolve, []row{
		{Name: "a session that was just seen is not seen again", Given: past(), When: use("h1", session.SeenEvery-1)},
		{Name: "it is seen after a while", Given: past(), When: use("h1", session.SeenEvery),
			Then: events{seen(noon.Add(session.SeenEvery))}},
		{Name: "and again a while after that", Given: past(seen(noon.Add(time.Minute))),
			When: use("h1", session.SeenEvery+time.Minute),
			Then: events{seen(noon.Add(session.SeenEvery + time.Minute))}},
		{Name: "an old secret is replaced, which is a use, too", Given: past(), When: use("h1", day),
			Then: events{rotated("h1", "h9", tomorrow)}},
		{Name: "a new one is not", Given: past(rotated("h1", "h2", tomorrow)), When: use("h2", day+time.Second)},
		{Name: "what was on its way is admitted, and rotates nothing", Given: past(rotated("h1", "h2", tomorrow)),
			When: use("h1", day+session.Overlap-1)},
		{Name: "the former secret is worth nothing after that", Given: past(rotated("h1", "h2", tomorrow)),
			When:    use("h1", day+session.Overlap),
			Refused: domain.Unauthenticated},
		{Name: "the one before it even less",
			Given: past(rotated("h1", "h2", tomorrow), rotated("h2", "h3", tomorrow.Add(1))), When: use("h1", day+2),
			Refused: domain.Unauthenticated},
		{Name: "a use may leave the secret as it is", Given: past(),
			When: session.Use{Shown: "h1", Next: "h9", Rotate: 2 * day, At: tomorrow}, Then: events{seen(tomorrow)}},
		{Name: "a wrong secret is refused", Given: past(), When: use("h2", day), Refused: domain.Unauthenticated},
		{Name: "no secret is refused", Given: past(), When: use("", day), Refused: domain.Unauthenticated},
		{Name: "a session that has ended is refused", Given: past(ended(session.Revoked, noon)), When: use("h1", day),
			Refused: domain.Unauthenticated},
		{Name: "what was never opened is refused", When: use("h1", day), Refused: domain.Unauthenticated},
	})
}

func TestEnd(t *testing.T) {
	end := session.End{Account: "a1", Reason: session.Revoked, At: noon}
	spec.Run(t, session.Evolve, []row{
		{Name: "a session ends", Given: events{opened()}, When: end, Then: events{ended(session.Revoked, noon)}},
		{Name: "not a second time", Given: events{opened(), ended(session.SignedOut, noon)}, When: end,
			Refused: domain.NotFound},
		{Name: "not that of another account", Given: events{opened()}, When: session.End{Account: "a2", At: noon},
			Refused: domain.NotFound},
		{Name: "not one that never was", When: end, Refused: domain.NotFound},
		{Name: "one that never was has no account", When: session.End{At: noon}, Refused: domain.NotFound},
	})
}

func TestExpire(t *testing.T) {
	later := noon.Add(30 * day)
	spec.Run(t, session.Evolve, []row{
		{Name: "not early", Given: events{opened()}, When: session.Expire{At: later.Add(-1)}},
		{Name: "in time", Given: events{opened()}, When: session.Expire{At: later},
			Then: events{ended(session.Expired, later)}},
		{Name: "not after another end", Given: events{opened(), ended(session.Revoked, noon)},
			When: session.Expire{At: later}},
		{Name: "not what never was", When: session.Expire{At: later}},
	})
}

func TestASessionLivesWhileItIsUsedUntilItExpires(t *testing.T) {
	const idle = 7 * day
	live := func(at time.Time, happened ...session.Event) bool {
		return spec.Fold(session.Evolve, append(events{opened()}, happened...)).Live(at, idle)
	}
	require.True(t, live(noon))
	require.True(t, live(noon.Add(idle-1)))
	require.False(t, live(noon.Add(idle)))
	require.True(t, live(noon.Add(idle), seen(noon.Add(day))))
	require.True(t, live(noon.Add(idle), rotated("h1", "h2", noon.Add(day))))
	require.False(t, live(noon.Add(30*day), seen(noon.Add(29*day))))
	require.False(t, live(noon, ended(session.Revoked, noon)))
	require.False(t, session.State{}.Live(noon, idle))
}

func TestCookie(t *testing.T) {
	drawn, err := session.DrawCookie(rand.Reader)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{32}\.[0-9A-Za-z_-]{43}$`, drawn.Value())
	parsed, ok := session.ParseCookie(drawn.Value())
	require.True(t, ok)
	require.Equal(t, drawn, parsed)

	renewed, err := drawn.Renewed(rand.Reader)
	require.NoError(t, err)
	require.Equal(t, drawn.ID, renewed.ID)
	require.NotEqual(t, drawn.Hash(), renewed.Hash())

	for _, wrong := range []string{
		"", ".", drawn.ID, drawn.ID + ".", "." + drawn.Secret, drawn.Value() + ".", drawn.Value() + "A",
		strings.ToUpper(drawn.ID) + "." + drawn.Secret,
		drawn.ID[1:] + "." + drawn.Secret, drawn.ID + "." + drawn.Secret[1:], drawn.ID + "." + drawn.Secret[1:] + "=",
		drawn.ID + ".\n" + drawn.Secret[1:],
	} {
		_, ok := session.ParseCookie(wrong)
		require.False(t, ok, "%q", wrong)
	}
	_, err = session.DrawCookie(strings.NewReader("short"))
	require.Error(t, err)
}

// For any history of a session, a fold from the last rotation equals the fold of all events.
func TestAReplacementStandsForWhatIsBeforeIt(t *testing.T) {
	all := events{opened(), seen(noon.Add(time.Hour)), rotated("h1", "h2", noon.Add(day)), seen(noon.Add(30 * time.Hour)),
		rotated("h2", "h3", noon.Add(2*day)),
		ended(session.Revoked, noon.Add(3*day))}
	for i, event := range all {
		if domain.IsSnapshot(event) {
			spec.FromSnapshot(t, session.Evolve, events{event}, spec.Fold(session.Evolve, all[:i]),
				spec.Fold(session.Evolve, all))
			for end := i + 1; end <= len(all); end++ {
				require.Equal(t, spec.Fold(session.Evolve, all[:end]), spec.Fold(session.Evolve, all[i:end]))
			}
		}
	}
}
