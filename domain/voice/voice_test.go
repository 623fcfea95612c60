package voice_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/voice"
)

type (
	row    = spec.Case[voice.State, voice.Event]
	events = []voice.Event
)

const id = "9c4a8f2b3e1d7c40"

var (
	noon    = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	model   = voice.Model{Engine: "formant/1", Blob: "m", SHA256: "h", Bytes: 9}
	preview = voice.Preview{Blob: "p", SHA256: "h", Bytes: 9}

	queued    = voice.Queued{Voice: id, Account: "a1", Lengths: []int64{400_000}, At: noon}
	begun     = voice.TrainingBegun{Voice: id, Account: "a1", At: noon}
	ready     = voice.Ready{Voice: id, Account: "a1", Model: model, At: noon}
	broken    = voice.Broken{Voice: id, Account: "a1", Reason: "broken", Message: "The file is damaged", At: noon}
	cancelled = voice.Cancelled{Voice: id, Account: "a1", At: noon}
	deleted   = voice.Deleted{Voice: id, Account: "a1", At: noon}
	erased    = voice.Erased{Voice: id, Account: "a1", At: noon}
	abandoned = voice.Abandoned{Voice: id, Account: "a1", At: noon}
	rendered  = voice.PreviewRendered{Voice: id, Account: "a1", Preview: preview, At: noon}
)

func create(change ...func(*voice.Create)) voice.Create {
	c := voice.Create{Voice: id, Account: "a1", Type: voice.Instant, Sealed: []byte{1},
		Recordings: []voice.Recording{{Blob: "r", Bytes: 9, SHA256: "h"}}, At: noon}
	for _, f := range change {
		f(&c)
	}
	return c
}

func instant() voice.Event { return voice.Created(create()) }

func professional() voice.Event {
	return voice.Created(create(func(c *voice.Create) { c.Type = voice.Professional }))
}

func analysis(from int64) voice.Analysis {
	return voice.Analysis{From: from, Length: 120_000, Speech: 90_000, Blob: "a"}
}

func analysed(from int64, done, total int) voice.Event {
	return voice.Analysed{Voice: id, Account: "a1", Analysis: analysis(from), Done: done, Total: total, At: noon}
}

func TestCreating(t *testing.T) {
	spec.Run(t, voice.Evolve, []row{
		{Name: "a voice is created", When: create(), Then: events{instant()}},
		{Name: "once", Given: events{instant()}, When: create()},
		{Name: "an id is one account's", Given: events{instant()}, When: create(func(c *voice.Create) { c.Account = "a2" }),
			Refused: domain.Conflict},
		{Name: "what was given up is not created", Given: events{abandoned}, When: create(), Refused: domain.Conflict},
		{Name: "the id can be one", When: create(func(c *voice.Create) { c.Voice = "leah" }), Refused: domain.Invalid},
		{Name: "the type is known", When: create(func(c *voice.Create) { c.Type = "intrinsic" }), Refused: domain.Invalid},
		{Name: "what is said about it is sealed", When: create(func(c *voice.Create) { c.Sealed = nil }),
			Refused: domain.Invalid},
		{Name: "there are recordings", When: create(func(c *voice.Create) { c.Recordings = nil }), Refused: domain.Invalid},
		{Name: "and not too many", When: create(func(c *voice.Create) { c.Recordings = make([]voice.Recording, 21) }),
			Refused: domain.Invalid},

		{Name: "a creation that was cut short is given up", When: voice.Abandon(abandoned), Then: events{abandoned}},
		{Name: "once", Given: events{abandoned}, When: voice.Abandon(abandoned)},
		{Name: "but not one that was not", Given: events{instant()}, When: voice.Abandon(abandoned)},
	})
}

func TestMaking(t *testing.T) {
	queue := voice.Queue{Lengths: []int64{400_000}, At: noon}
	found := voice.RecordAnalysis{Analysis: analysis(0), Total: 4, At: noon}
	finish := voice.Finish{Model: model, At: noon}
	brk := voice.Break{Reason: "broken", Message: "The file is damaged", At: noon}
	begin := voice.BeginTraining{At: noon}
	spec.Run(t, voice.Evolve, []row{
		{Name: "a professional voice waits for its training", Given: events{professional()}, When: queue,
			Then: events{queued}},
		{Name: "once", Given: events{professional(), queued}, When: queue},
		{Name: "an instant one does not", Given: events{instant()}, When: queue},
		{Name: "each recording has a length", Given: events{professional()}, When: voice.Queue{At: noon},
			Refused: domain.Invalid},
		{Name: "its training begins", Given: events{professional(), queued}, When: begin, Then: events{begun}},
		{Name: "once", Given: events{professional(), queued, begun}, When: begin},
		{Name: "not before it waits", Given: events{professional()}, When: begin},

		{Name: "a recording is analysed", Given: events{instant()}, When: found, Then: events{analysed(0, 1, 4)}},
		{Name: "a stretch is analysed", Given: events{professional(), queued, begun, analysed(120_000, 1, 4)}, When: found,
			Then: events{analysed(0, 2, 4)}},
		{Name: "each one once", Given: events{professional(), queued, begun, analysed(0, 1, 4)}, When: found},
		{Name: "not before the training", Given: events{professional(), queued}, When: found},
		{Name: "not of a recording that there is not", Given: events{instant()},
			When: voice.RecordAnalysis{Analysis: voice.Analysis{Recording: 1, Blob: "a"}}, Refused: domain.Invalid},

		{Name: "an instant voice is ready", Given: events{instant(), analysed(0, 1, 1)}, When: finish, Then: events{ready}},
		{Name: "a professional one", Given: events{professional(), queued, begun, analysed(0, 1, 1)}, When: finish,
			Then: events{ready}},
		{Name: "once", Given: events{instant(), analysed(0, 1, 1), ready}, When: finish},
		{Name: "not before its training", Given: events{professional(), queued}, When: finish},
		{Name: "not without analyses", Given: events{instant()}, When: finish, Refused: domain.Invalid},
		{Name: "not without a model", Given: events{instant(), analysed(0, 1, 1)}, When: voice.Finish{At: noon},
			Refused: domain.Invalid},

		{Name: "it is broken", Given: events{instant()}, When: brk, Then: events{broken}},
		{Name: "at any time until it is ready", Given: events{professional(), queued, begun}, When: brk,
			Then: events{broken}},
		{Name: "once", Given: events{instant(), broken}, When: brk},
		{Name: "not when it is ready", Given: events{instant(), analysed(0, 1, 1), ready}, When: brk},
		{Name: "a broken one is never ready", Given: events{instant(), analysed(0, 1, 1), broken}, When: finish},
		{Name: "there is a reason", Given: events{instant()}, When: voice.Break{At: noon}, Refused: domain.Invalid},
	})
	gone := events{professional(), queued, begun, cancelled, deleted}
	spec.Run(t, voice.Evolve, []row{
		{Name: "a deleted voice is not analysed", Given: gone, When: found},
		{Name: "is not ready", Given: gone, When: finish},
		{Name: "is not broken", Given: gone, When: brk},
		{Name: "is not trained", Given: events{professional(), queued, cancelled, deleted}, When: begin},
		{Name: "is not queued", Given: events{professional(), cancelled, deleted}, When: queue},
		{Name: "is not created again", Given: gone, When: create(func(c *voice.Create) { c.Type = voice.Professional })},
	})
}

func TestPreviews(t *testing.T) {
	record, invalidate := voice.RecordPreview{Preview: preview, At: noon}, voice.InvalidatePreview{Account: "a1", At: noon}
	invalidated := voice.PreviewInvalidated{Voice: id, Account: "a1", Blob: "p", At: noon}
	spec.Run(t, voice.Evolve, []row{
		{Name: "a voice that is ready has one", Given: events{instant(), ready}, When: record, Then: events{rendered}},
		{Name: "one", Given: events{instant(), ready, rendered}, When: record},
		{Name: "no other has", Given: events{instant()}, When: record},
		{Name: "nor a deleted one", Given: events{instant(), ready, deleted}, When: record},
		{Name: "there is audio", Given: events{instant(), ready}, When: voice.RecordPreview{At: noon},
			Refused: domain.Invalid},
		{Name: "it is rendered again", Given: events{instant(), ready, rendered}, When: invalidate,
			Then: events{invalidated}},
		{Name: "which may be under way", Given: events{instant(), ready, rendered, invalidated}, When: invalidate},
		{Name: "then there is another", Given: events{instant(), ready, rendered, invalidated}, When: record,
			Then: events{rendered}},
		{Name: "others' are not found", Given: events{instant(), ready, rendered},
			When: voice.InvalidatePreview{Account: "a2"}, Refused: domain.NotFound},
	})
}

func TestChanging(t *testing.T) {
	change := voice.Change{Account: "a1", Sealed: []byte{2}, At: noon}
	spec.Run(t, voice.Evolve, []row{
		{Name: "what is said about a voice", Given: events{instant()}, When: change,
			Then: events{voice.Changed{Voice: id, Account: "a1", Sealed: []byte{2}, At: noon}}},
		{Name: "nothing", Given: events{instant()}, When: voice.Change{Account: "a1"}},
		{Name: "a broken one", Given: events{instant(), broken}, When: change,
			Then: events{voice.Changed{Voice: id, Account: "a1", Sealed: []byte{2}, At: noon}}},
		{Name: "another account's", Given: events{instant()}, When: voice.Change{Account: "a2", Sealed: []byte{2}},
			Refused: domain.NotFound},
		{Name: "a deleted one", Given: events{instant(), cancelled, deleted}, When: change, Refused: domain.NotFound},
		{Name: "none", When: change, Refused: domain.NotFound},
	})
}

func TestDeleting(t *testing.T) {
	remove := voice.Delete{Account: "a1", At: noon}
	spec.Run(t, voice.Evolve, []row{
		{Name: "a voice", Given: events{instant(), ready}, When: remove, Then: events{deleted}},
		{Name: "a broken one", Given: events{instant(), broken}, When: remove, Then: events{deleted}},
		{Name: "one that is preparing", Given: events{instant()}, When: remove, Then: events{cancelled, deleted}},
		{Name: "one that waits", Given: events{professional(), queued}, When: remove, Then: events{cancelled, deleted}},
		{Name: "one in training", Given: events{professional(), queued, begun}, When: remove,
			Then: events{cancelled, deleted}},
		{Name: "once", Given: events{instant(), cancelled, deleted}, When: remove, Refused: domain.NotFound},
		{Name: "another account's", Given: events{instant()}, When: voice.Delete{Account: "a2"}, Refused: domain.NotFound},
		{Name: "one that was given up", Given: events{abandoned}, When: remove, Refused: domain.NotFound},
		{Name: "then nothing is left of it", Given: events{instant(), cancelled, deleted},
			When: voice.RecordErasure{At: noon}, Then: events{erased}},
		{Name: "which is recorded once", Given: events{instant(), cancelled, deleted, erased},
			When: voice.RecordErasure{At: noon}},
		{Name: "and not of another", Given: events{instant()}, When: voice.RecordErasure{At: noon}},
	})
}

func TestTheEndWithItsAccount(t *testing.T) {
	end := voice.End{Voice: id, Account: "a1", At: noon}
	spec.Run(t, voice.Evolve, []row{
		{Name: "of a voice", Given: events{instant(), ready}, When: end, Then: events{deleted, erased}},
		{Name: "of one that is preparing", Given: events{instant()}, When: end, Then: events{cancelled, deleted, erased}},
		{Name: "of one that was deleted before", Given: events{instant(), ready, deleted}, When: end, Then: events{erased}},
		{Name: "of one that was erased before", Given: events{instant(), ready, deleted, erased}, When: end},
		{Name: "of one that was never created", When: end, Then: events{abandoned}},
		{Name: "of one that was given up before", Given: events{abandoned}, When: end},
	})
}

func TestASnapshotIsTheWholeState(t *testing.T) {
	for _, all := range []events{
		{professional(), queued, begun, analysed(0, 1, 2), analysed(120_000, 2, 2), ready, rendered, deleted, erased},
		{instant(), broken}, {abandoned},
	} {
		for n := range len(all) + 1 {
			before := spec.Fold(voice.Evolve, all[:n])
			after := spec.FromSnapshot(t, voice.Evolve, events{voice.SnapshotTaken{Facts: before.Facts, At: noon}}, before,
				spec.Fold(voice.Evolve, all))
			for _, event := range all[n:] {
				after = voice.Evolve(after, event)
			}
			require.Equal(t, spec.Fold(voice.Evolve, all).Facts, after.Facts)
		}
	}
	var many voice.State
	for range voice.SnapshotEvery {
		require.Zero(t, decided(t, many))
		many = voice.Evolve(many, voice.Changed{})
	}
	require.Equal(t, 1, decided(t, many))
}

func decided(t *testing.T, s voice.State) int {
	t.Helper()
	taken := s.Snapshot(noon)
	return len(taken)
}

func TestIDs(t *testing.T) {
	drawn, err := voice.DrawID(rand.Reader)
	require.NoError(t, err)
	require.True(t, voice.ValidID(drawn))
	_, err = voice.DrawID(bytes.NewReader(make([]byte, 7)))
	require.Error(t, err, "half an id is none")
	for _, text := range []string{"", "leah", drawn[:15], drawn + "0", strings.ToUpper("abcdefabcdefabcd"),
		strings.Repeat("./", 8)} {
		require.False(t, voice.ValidID(text), "%q", text)
	}
}
