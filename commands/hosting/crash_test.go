package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/commandstest"
	commands "github.com/recital-tts/recital/commands/hosting"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/internal/events/todo"
	platform "github.com/recital-tts/recital/internal/providers/hosting"
	"github.com/recital-tts/recital/internal/standins/hostingplatform/platformtest"
)

// After a crash at any change in the log or at the platform, before or after it, while a variable is set or removed: a
// worker, or a repetition, leaves one key in one variable, or none.
func TestACrashAnywhereIsRepaired(t *testing.T) {
	w := newWorld(t)
	type change struct{ add, remove []string }
	for name, c := range map[string]struct{ given, do change }{
		"set":                    {change{}, change{add: []string{"site"}}},
		"remove":                 {change{add: []string{"site"}}, change{remove: []string{"site"}}},
		"remove one and set one": {change{add: []string{"site"}}, change{add: []string{"shop"}, remove: []string{"site"}}},
	} {
		for _, repeated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, repeated: %v", name, repeated), func(t *testing.T) {
				for at := 1; ; at++ {
					for _, after := range commandstest.Sides(at) {
						id, config := w.connected("site", "shop")
						w.set(id, config, c.given.add, nil)
						f := &commandstest.Fuse{At: at, After: after}
						dying, ctx := w.mortal(t.Context(), f)
						_, _, err := dying.SetVariables(ctx, id, config, c.do.add, c.do.remove, origin)
						if !f.Blown() {
							require.NoError(t, err)
							require.Greater(t, at, 4, "the crashes were none")
							require.NoError(t, w.EndFor(t.Context(), id))
							return
						}
						w.complete(t, id)
						w.requireAgreement(t, id, config)
						if repeated {
							w.set(id, config, c.do.add, c.do.remove)
							w.requireAgreement(t, id, config)
							require.Len(t, w.state(id).Variables, len(c.do.add))
						}
						require.NoError(t, w.EndFor(t.Context(), id))
						require.Empty(t, w.platform.Variables(config))
						w.requireAgreement(t, id, config)
					}
				}
			})
		}
	}
}

// An interrupted change of a closed account is removed at the platform, too, in any order of the two to-dos.
func TestAHalfDoneVariableOfAClosedAccountIsTakenDown(t *testing.T) {
	w := newWorld(t)
	for at := 1; ; at++ {
		for _, after := range commandstest.Sides(at) {
			id, config := w.connected("site")
			f := &commandstest.Fuse{At: at, After: after}
			dying, ctx := w.mortal(t.Context(), f)
			_, _, _ = dying.SetVariables(ctx, id, config, []string{"site"}, nil, origin)
			if !f.Blown() {
				require.Greater(t, at, 4, "the crashes were none")
				return
			}
			_, err := w.Accounts.Close(t.Context(), id, origin)
			require.NoError(t, err)
			w.complete(t, id)
			require.NoError(t, w.EndFor(t.Context(), id))
			require.Empty(t, w.platform.Variables(config), "a crash at change %d, after it: %v", at, after)
		}
	}
}

// After any sequence of connections, additions, removals, crashes, disconnections and refusals, once all to-dos are
// done, the platform, the API keys and the stream agree; after the account's closing, the platform has no variables.
func TestPlatformKeysAndStreamEndInAgreement(t *testing.T) {
	w := newWorld(t)
	sites := []string{"site", "shop", "blog"}
	rapid.Check(t, func(draw *rapid.T) {
		w.platform.Mend()
		id, config := w.connected(sites...)
		instance, ctx := w.Hosting, t.Context()
		some := func(label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(sites), 0, 2, rapid.ID[string]).Draw(draw, label)
		}
		for range rapid.IntRange(1, 8).Draw(draw, "steps") {
			switch rapid.SampledFrom([]string{"change", "change", "change", "crash", "fault", "connect", "complete", "wait",
				"delete"}).Draw(draw, "step") {
			case "crash": // of the next change
				f := &commandstest.Fuse{At: rapid.IntRange(1, 9).Draw(draw, "at"), After: rapid.Bool().Draw(draw, "after")}
				instance, ctx = w.mortal(t.Context(), f)
				w.change(draw, ctx, instance, id, config, some("add"), some("remove"))
				instance, ctx = w.Hosting, t.Context()
			case "fault":
				status := rapid.SampledFrom([]int{0, 500, 429, 400}).Draw(draw, "status")
				w.platform.Fail(platformtest.Fault{
					Method: rapid.SampledFrom([]string{"GET", "POST", "DELETE"}).Draw(draw, "method"), Status: status, RetryAfter: 60,
					Done: (status == 0 || status == 500) && rapid.Bool().Draw(draw, "done"), // a refusal has no effect
				})
			case "connect":
				_, err := w.Projects(ctx, id, config, w.platform.Reinstall(config), origin)
				w.permitted(draw, err)
			case "complete":
				_, err := w.Complete(ctx, hosting.Stream(id), uuid.New())
				w.permitted(draw, err)
			case "wait":
				w.Clock.Advance(hosting.Patience)
			case "delete": // a key, by its owner
				if keys := w.Account(id).Keys; len(keys) > 1 {
					require.NoError(draw, w.Accounts.DropKey(ctx, id, keys[1].Hash, origin))
				}
			default:
				w.change(draw, ctx, instance, id, config, some("add"), some("remove"))
			}
		}
		w.platform.Mend()
		w.Clock.Advance(hosting.Patience)
		_, err := w.Projects(ctx, id, config, w.platform.Reinstall(config), origin)
		require.NoError(draw, err)
		_, err = w.Complete(ctx, hosting.Stream(id), uuid.New())
		require.NoError(draw, err)
		// a key that its owner has deleted is replaced when its project is added again
		for _, v := range w.state(id).Variables {
			w.set(id, config, []string{w.open(draw, id, v.SealedName, hosting.SealedForName(v.Hash))}, nil)
		}
		w.requireAgreement(draw, id, config)

		_, err = w.Accounts.Close(ctx, id, origin)
		require.NoError(draw, err)
		require.NoError(draw, w.EndFor(ctx, id))
		require.Empty(draw, w.kept(id, config))
		require.True(draw, w.state(id).Ended)
		require.Empty(draw, w.state(id).Variables)
	})
}

func (w *world) change(
	draw *rapid.T, ctx context.Context, h *commands.Hosting, id, config string, add, remove []string,
) {
	failed, _, err := h.SetVariables(ctx, id, config, add, remove, origin)
	if ctx.Err() == nil {
		w.permitted(draw, err)
		for _, f := range failed {
			w.permitted(draw, f.Err)
		}
	}
}

// permitted requires that an error is a valid response to a client, or a postponement.
func (w *world) permitted(draw *rapid.T, err error) {
	var notYet *todo.NotYetError
	var limited *platform.LimitedError
	if err == nil || errors.As(err, &notYet) || errors.As(err, &limited) || domain.CodeOf(err) != "" {
		return
	}
	draw.Fatalf("unexpected: %v", err)
}
