package hosting_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	platform "github.com/recital-tts/recital/internal/providers/hosting"
	"github.com/recital-tts/recital/internal/providers/hosting/vercel"
	"github.com/recital-tts/recital/internal/standins/hostingplatform"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var origin = journal.Origin{Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a"}}

// world is hosting on a real log, a real keyring, and a platform with the real API.
type world struct {
	*commandstest.World
	*commands.Hosting // of an instance without faults
	platform          *platformtest.Platform
	keys              *memkeys.Keyring
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{World: commandstest.New(t)}
	w.keys = memkeys.New()
	w.platform = platformtest.Open(t, hostingplatform.Config{ClientID: "recital", ClientSecret: "secret"})
	w.Hosting = w.instance(w.Log, nil)
	return w
}

// instance returns an instance on a log, which crashes by a fuse, unless that is nil.
func (w *world) instance(log eventlog.Log, f *commandstest.Fuse) *commands.Hosting {
	adapter := vercel.New(vercel.Config{ClientID: "recital", ClientSecret: "secret", URL: w.platform.URL(),
		Pause: time.Nanosecond})
	w.T.Cleanup(func() { require.NoError(w.T, adapter.Close()) })
	j := &journal.Journal{Log: log, Registry: w.Journal.Registry}
	var at platform.Platform = adapter
	if f != nil {
		at = mortalPlatform{adapter, f}
	}
	keysOfAccounts := accounts.New(j, w.Clock.Now)
	keysOfAccounts.SealWith(w.keys)
	return commands.New(commands.Config{Journal: j, Platform: at, Keyring: w.keys, APIKeys: keysOfAccounts,
		Now: w.Clock.Now})
}

// connected returns an account that is connected to an installation with projects.
func (w *world) connected(projects ...string) (id, config string) {
	w.T.Helper()
	id = w.Open("free")
	config, code := w.platform.Install("team_1", projects...)
	w.Must(w.Projects(w.T.Context(), id, config, code, origin))
	return id, config
}

func (w *world) set(id, config string, add, remove []string) {
	w.T.Helper()
	failed, _, err := w.SetVariables(w.T.Context(), id, config, add, remove, origin)
	require.NoError(w.T, err)
	require.Empty(w.T, failed)
}

func (w *world) state(id string) (s hosting.State) {
	for _, event := range w.events(id) {
		s = hosting.Evolve(s, event)
	}
	return s
}

func (w *world) events(id string) []hosting.Event {
	return commandstest.Fold[hosting.Event](w.World, hosting.Stream(id))
}

func (w *world) open(t require.TestingT, id string, sealed []byte, use string) string {
	plain, err := w.keys.Open(w.T.Context(), id, sealed, use)
	require.NoError(t, err)
	return string(plain)
}

// requireAgreement requires that the platform, the account's keys and the stream agree: each variable has a valid key,
// each key but the account's first is in one variable, and no change is under way.
func (w *world) requireAgreement(t require.TestingT, id, config string) {
	inStream, onPlatform, ofAccount := map[string]string{}, map[string]string{}, map[string]string{}
	for _, v := range w.state(id).Variables {
		name := w.open(t, id, v.SealedName, hosting.SealedForName(v.Hash))
		require.True(t, v.Settled(), "%s is under way", name)
		inStream[name] = v.Hash
	}
	for name, variables := range w.kept(id, config) {
		for _, v := range variables {
			require.NotContains(t, onPlatform, name, "two variables")
			require.Equal(t, commands.VariableName, v.Key)
			onPlatform[name] = account.HashAPIKey(v.Value)
		}
	}
	for _, key := range w.Account(id).Keys {
		if len(key.SealedName) > 0 {
			name := w.open(t, id, key.SealedName, account.ForKeyName(key.Hash))
			require.NotContains(t, ofAccount, name, "two keys")
			ofAccount[name] = key.Hash
		}
	}
	require.Equal(t, inStream, onPlatform)
	require.Equal(t, inStream, ofAccount)
}

// kept returns the platform's variables of an account by project, except for those that had to be left because the
// platform denied access.
func (w *world) kept(id, config string) map[string][]hostingplatform.Variable {
	left := map[string]bool{}
	for _, event := range w.events(id) {
		if removed, is := event.(hosting.VariableRemoved); is && removed.Left {
			left[removed.Hash] = true
		}
	}
	kept := w.platform.Variables(config)
	for name, variables := range kept {
		kept[name] = slices.DeleteFunc(variables,
			func(v hostingplatform.Variable) bool { return left[account.HashAPIKey(v.Value)] })
		if len(kept[name]) == 0 {
			delete(kept, name)
		}
	}
	return kept
}

// mortal returns an instance that crashes by a fuse, with its context.
func (w *world) mortal(ctx context.Context, f *commandstest.Fuse) (*commands.Hosting, context.Context) {
	ctx, f.Die = context.WithCancel(ctx)
	w.T.Cleanup(f.Die)
	return w.instance(commandstest.MortalLog{Log: w.Log, Fuse: f}, f), ctx
}

type mortalPlatform struct {
	platform.Platform
	fuse *commandstest.Fuse
}

// Exchange implements platform.Platform.
func (p mortalPlatform) Exchange(ctx context.Context, code string) (a platform.Access, err error) {
	err = p.fuse.Burn(ctx, func(ctx context.Context) error {
		a, err = p.Platform.Exchange(ctx, code)
		return err
	})
	return a, err
}

// SetVariable implements platform.Platform.
func (p mortalPlatform) SetVariable(
	ctx context.Context, a platform.Access, project string, v platform.NewVariable,
) (id string, err error) {
	err = p.fuse.Burn(ctx, func(ctx context.Context) error {
		id, err = p.Platform.SetVariable(ctx, a, project, v)
		return err
	})
	return id, err
}

// RemoveVariable implements platform.Platform.
func (p mortalPlatform) RemoveVariable(ctx context.Context, a platform.Access, project, id string) error {
	return p.fuse.Burn(ctx, func(ctx context.Context) error { return p.Platform.RemoveVariable(ctx, a, project, id) })
}

// complete executes the to-do, once no request can still be running.
func (w *world) complete(t require.TestingT, id string) {
	w.Clock.Advance(hosting.Patience)
	w.Must(w.Complete(w.T.Context(), hosting.Stream(id), uuid.New()))
}
