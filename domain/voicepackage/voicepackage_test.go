package voicepackage_test

import (
	"fmt"
	"testing"
	"time"

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
	var many []voicepackage.Event
	for i := range voicepackage.MaxPackages {
		many = append(many, installed(fmt.Sprint("v", i), "a"))
	}
	remove := voicepackage.Remove{Voice: "joe", At: noon}
	spec.Run(t, voicepackage.Evolve, []spec.Case[voicepackage.State, voicepackage.Event]{
		{Name: "a voice is installed", When: install("joe", "a"), Then: []voicepackage.Event{installed("joe", "a")}},
		{Name: "once", Given: []voicepackage.Event{installed("joe", "a")}, When: install("joe", "a")},
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
}
