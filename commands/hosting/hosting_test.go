package hosting_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	commands "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/todo"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

func TestACodeIsExchangedOnce(t *testing.T) {
	// given an installation with more projects than are on a page
	w := newWorld(t)
	id := w.Open("free")
	var names []string
	for i := range 250 {
		names = append(names, "site-"+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	config, code := w.platform.Install("team_1", names...)
	_, err := w.Projects(t.Context(), id, config, "", origin)
	require.ErrorIs(t, err, hosting.ErrNotConnected)

	// when it is connected, then its projects are listed, with the exchanged code and without
	for _, code := range []string{code, code, ""} {
		found, err := w.Projects(t.Context(), id, config, code, origin)
		require.NoError(t, err)
		require.True(t, found.All)
		require.Len(t, found.Listed, len(names))
		require.Equal(t, names[249], found.Listed[249].Name)
	}
	require.Len(t, w.events(id), 1)

	// and the token is sealed
	for _, event := range w.events(id) {
		require.NotContains(t, string(event.(hosting.Connected).Token), "team_1")
	}

	// and neither the code nor the configuration is valid for another account
	other := w.Open("free")
	_, err = w.Projects(t.Context(), other, config, code, origin)
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	_, err = w.Projects(t.Context(), other, config, "", origin)
	require.ErrorIs(t, err, hosting.ErrNotConnected)
	require.Empty(t, w.events(other))

	// and a code connects only its own configuration
	_, code = w.platform.Install("team_1", "site")
	_, err = w.Projects(t.Context(), other, config, code, origin)
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	require.Empty(t, w.events(other))
}

func TestAProjectGetsAKeyOfItsOwn(t *testing.T) {
	w := newWorld(t)
	id, config := w.connected("site", "shop")

	w.set(id, config, []string{"site", "shop"}, nil)
	w.requireAgreement(t, id, config)
	require.Len(t, w.platform.Variables(config), 2)
	before := w.platform.Variables(config)

	// a variable is not replaced: the software at the platform uses the key
	w.set(id, config, []string{"site"}, nil)
	require.Equal(t, before, w.platform.Variables(config))

	w.set(id, config, nil, []string{"shop", "unknown"})
	w.set(id, config, nil, []string{"shop"})
	w.requireAgreement(t, id, config)
	require.Len(t, w.platform.Variables(config), 1)
}

func TestTheNamesOfProjectsAreInNoEventInClear(t *testing.T) {
	w := newWorld(t)
	id, config := w.connected("zyzzo-site")
	w.set(id, config, []string{"zyzzo-site"}, nil)
	for _, stream := range []string{hosting.Stream(id), account.Stream(id)} {
		for event, err := range w.Log.ReadStream(t.Context(), stream, 0) {
			require.NoError(t, err)
			require.NotContains(t, string(event.Data)+string(event.Metadata), "zyzzo", event.Type)
		}
	}
	w.requireAgreement(t, id, config)
}

func TestKeysAreDeletedWhereThePlatformGrantsNoAccess(t *testing.T) {
	w := newWorld(t)
	id, config := w.connected("site", "shop", "blog")
	w.set(id, config, []string{"site", "shop", "blog"}, nil)
	w.platform.Uninstall(config)

	// variables stay until they are to be removed
	_, _, err := w.SetVariables(t.Context(), id, config, []string{"site"}, nil, origin)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	require.Len(t, w.Account(id).Keys, 4)

	// all keys to be removed are deleted, and the owner learns which variables remain
	failed, _, err := w.SetVariables(t.Context(), id, config, nil, []string{"site", "shop"}, origin)
	require.NoError(t, err)
	require.Len(t, failed, 2)
	require.ErrorContains(t, failed[1].Err, "its variable is left")
	require.Len(t, w.Account(id).Keys, 2)

	// and a closing does not wait for the platform
	require.NoError(t, w.EndFor(t.Context(), id))
	require.Len(t, w.Account(id).Keys, 1)
	require.True(t, w.state(id).Ended)
}

func TestAClosingWaitsForThePlatform(t *testing.T) {
	w := newWorld(t)
	id, config := w.connected("site", "shop")
	w.set(id, config, []string{"site", "shop"}, nil)
	w.platform.Fail(platformtest.Fault{Method: "DELETE", Status: 500})
	require.Equal(t, domain.Unavailable, domain.CodeOf(w.EndFor(t.Context(), id)))
	require.False(t, w.state(id).Ended)
	var notYet *todo.NotYetError
	require.ErrorAs(t, w.EndFor(t.Context(), id), &notYet, "somebody may still be at work")
	w.Clock.Advance(hosting.Patience)
	for range 2 {
		require.NoError(t, w.EndFor(t.Context(), id))
	}
	require.Empty(t, w.platform.Variables(config))
	require.True(t, w.state(id).Ended)
	_, err := w.Projects(t.Context(), id, config, w.platform.Reinstall(config), origin)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
}

func TestAFullAccountGetsNoKeyAndNoVariable(t *testing.T) {
	w := newWorld(t)
	id, config := w.connected("site", "shop")
	for len(w.Account(id).Keys) < account.MaxKeys-1 {
		_, err := w.Accounts.CreateKey(t.Context(), id, "", origin)
		require.NoError(t, err)
	}
	failed, _, err := w.SetVariables(t.Context(), id, config, []string{"site", "shop"}, nil, origin)
	require.NoError(t, err)
	require.Len(t, failed, 1)
	require.ErrorContains(t, failed[0].Err, "100 API keys")
	w.requireAgreement(t, id, config)
	require.Len(t, w.platform.Variables(config), 1)
}

// Two concurrent instances set one variable, with one key.
func TestTwoAtOnceSetOneVariable(t *testing.T) {
	w := newWorld(t)
	other := w.instance(w.Log, nil)
	for range 10 {
		id, config := w.connected("site")
		var wait sync.WaitGroup
		for _, h := range []*commands.Hosting{w.Hosting, other} {
			wait.Go(func() {
				failed, _, err := h.SetVariables(t.Context(), id, config, []string{"site"}, nil, origin)
				assert.NoError(t, err)
				for _, f := range failed {
					assert.ErrorIs(t, f.Err, hosting.ErrUnderway)
				}
			})
		}
		wait.Wait()
		w.requireAgreement(t, id, config)
		require.Len(t, w.platform.Variables(config), 1)
	}
}
