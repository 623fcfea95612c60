package voicepackage_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/voicepackage"
)

func TestPackages(t *testing.T) {
	noon := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	install := func(voice, sha256 string) voicepackage.Install {
		return voicepackage.Install{Voice: voice, SHA256: sha256, Blob: "b", At: noon}
	}
	installed := func(voice, sha256 string) voicepackage.Event {
		return voicepackage.Installed(install(voice, sha256))
	}
	measured := install("joe", "a")
	measured.Sound = "{}"
	var many []voicepackage.Event
	for i := range voicepackage.MaxPackages {
		many = append(many, installed(fmt.Sprint("v", i), "a"))
	}
	remove := voicepackage.Remove{Voice: "joe", At: noon}
	spec.Run(t, voicepackage.Evolve, []spec.Case[voicepackage.State, voicepackage.Event]{
		{Name: "a voice is installed", When: install("joe", "a"), Then: []voicepackage.Event{installed("joe", "a")}},
		{Name: "once", Given: []voicepackage.Event{installed("joe", "a")}, When: install("joe", "a")},
		{Name: "unless clones can be made of it now", Given: []voicepackage.Event{installed("joe", "a")}, When: measured,
			Then: []voicepackage.Event{voicepackage.Installed(measured)}},
		{Name: "once, again", Given: []voicepackage.Event{voicepackage.Installed(measured)}, When: measured},
		{Name: "or replaced", Given: []voicepackage.Event{installed("joe", "a")}, When: install("joe", "b"),
			Then: []voicepackage.Event{installed("joe", "b")}},
		{Name: "there are so many", Given: many, When: install("joe", "a"), Refused: domain.Rejected},
		{Name: "of which one is replaced", Given: many, When: install("v1", "b"),
			Then: []voicepackage.Event{installed("v1", "b")}},
		{Name: "without a hash", When: install("joe", ""), Refused: domain.Invalid},
		{Name: "it is removed", Given: []voicepackage.Event{installed("joe", "a")}, When: remove,
			Then: []voicepackage.Event{voicepackage.Removed(remove)}},
		{Name: "once, too", Given: []voicepackage.Event{installed("joe", "a"), voicepackage.Removed(remove)}, When: remove,
			Refused: domain.NotFound},
	})

	named := installed("jenny", "a").(voicepackage.Installed)
	named.OwnName = true
	given := []voicepackage.Event{installed("joe", "a"), named}
	assign := func(voice string, streams int) voicepackage.Assign {
		return voicepackage.Assign{System: "leah", Voice: voice, Streams: streams, At: noon}
	}
	assigned := func(voice string) voicepackage.Event {
		return voicepackage.Assigned{System: "leah", Voice: voice, At: noon}
	}
	more := func(events ...voicepackage.Event) []voicepackage.Event { return append(slices.Clone(given), events...) }
	namedLater := installed("joe", "b").(voicepackage.Installed)
	namedLater.OwnName = true
	spec.Run(t, voicepackage.Evolve, []spec.Case[voicepackage.State, voicepackage.Event]{
		{Name: "a voice speaks for a system voice", Given: given, When: assign("joe", 2),
			Then: []voicepackage.Event{assigned("joe")}},
		{Name: "from then on", Given: more(assigned("joe")), When: assign("joe", 0)},
		{Name: "until that speaks for itself", Given: more(assigned("joe")), When: assign("", 0),
			Then: []voicepackage.Event{assigned("")}},
		{Name: "which has no effect twice", Given: more(assigned("joe"), assigned("")), When: assign("", 0)},
		{Name: "or the voice is removed", Given: more(assigned("joe"), voicepackage.Removed(remove)),
			When: assign("", 0)},
		{Name: "or gets a licence with a name", Given: more(assigned("joe"), namedLater), When: assign("", 0)},
		{Name: "not with a licence that names it", Given: given, When: assign("jenny", 9), Refused: domain.Rejected},
		{Name: "not on a machine that is too small", Given: given, When: assign("joe", 1), Refused: domain.Rejected},
		{Name: "not if it is not installed", Given: given, When: assign("ann", 9), Refused: domain.NotFound},
	})
}

func TestWhatALicenceForbidsNoCloneIsMadeOf(t *testing.T) {
	voice := voicepackage.Installed{Sound: "{}", Commercial: "unknown"}
	require.True(t, voice.Clones())
	for name, change := range map[string]func(*voicepackage.Installed){
		"it was not measured":      func(p *voicepackage.Installed) { p.Sound = "" },
		"it has a name of its own": func(p *voicepackage.Installed) { p.OwnName = true },
		"it is not for trade":      func(p *voicepackage.Installed) { p.Commercial = "no" },
	} {
		changed := voice
		change(&changed)
		require.False(t, changed.Clones(), name)
	}
}
