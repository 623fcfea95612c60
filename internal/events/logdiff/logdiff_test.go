package logdiff_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logdiff"
)

// made returns a log of some streams.
func made(events int) []eventlog.Recorded {
	log := make([]eventlog.Recorded, events)
	for i := range log {
		log[i] = eventlog.Recorded{
			ID: uuid.New(), Stream: fmt.Sprintf("stream-%d", i%7), Revision: uint64(i / 7), Type: "happened",
			Data: fmt.Appendf(nil, `{"n":%d}`, i), Metadata: []byte(`{}`),
		}
	}
	return placed(log)
}

// placed returns a log with new positions.
func placed(log []eventlog.Recorded) []eventlog.Recorded {
	log = slices.Clone(log)
	for i := range log {
		log[i].Position = eventlog.Position{Commit: uint64(i+1) * 10, Prepare: uint64(i+1) * 10}
	}
	return log
}

func after(log []eventlog.Recorded) func(eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
	return func(p eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
		return func(yield func(eventlog.Recorded, error) bool) {
			for _, e := range log {
				if e.Position.Compare(p) > 0 && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// compared compares a log with a copy. It is interrupted after each of the given numbers of events and resumed from its
// checkpoint.
func compared(t *testing.T, copied, log []eventlog.Recorded, interruptions ...int) logdiff.Report {
	t.Helper()
	return compareFrom(t, nil, copied, log, interruptions...).Report
}

func compareFrom(
	t *testing.T, from *logdiff.Checkpoint, copied, log []eventlog.Recorded, interruptions ...int,
) logdiff.Checkpoint {
	t.Helper()
	c, err := logdiff.New("copy", after(copied), from)
	require.NoError(t, err)
	defer c.Close()
	read := 0
	for e := range after(log)(c.After()) {
		if len(interruptions) > 0 && read == interruptions[0] {
			return compareFrom(t, kept(t, c.Checkpoint()), copied, log, interruptions[1:]...)
		}
		require.NoError(t, c.Add(e))
		read++
	}
	_, err = c.End()
	require.NoError(t, err)
	return *kept(t, c.Checkpoint())
}

// kept returns a checkpoint after a round trip through a file.
func kept(t *testing.T, at logdiff.Checkpoint) *logdiff.Checkpoint {
	t.Helper()
	text, err := json.Marshal(at)
	require.NoError(t, err)
	var read logdiff.Checkpoint
	require.NoError(t, json.Unmarshal(text, &read))
	return &read
}

// said returns the differences in short form: the kind, the number of the event in the copy, and the fields.
func said(copied []eventlog.Recorded, r logdiff.Report) []string {
	numbers := map[uuid.UUID]int{}
	for i, e := range copied {
		numbers[e.ID] = i
	}
	found := []string{}
	for _, d := range r.Differences {
		which := "new"
		if d.Copy != nil {
			which = fmt.Sprint(numbers[d.Copy.ID])
		}
		found = append(found, fmt.Sprintf("%s %s %v", d.Kind, which, d.Fields))
	}
	slices.Sort(found)
	return found
}

func TestEachDifferenceIsNamed(t *testing.T) {
	copied := made(200)
	other := made(3)
	for name, c := range map[string]struct {
		change func([]eventlog.Recorded) []eventlog.Recorded
		found  []string
	}{
		"nothing":      {func(l []eventlog.Recorded) []eventlog.Recorded { return l }, nil},
		"later events": {func(l []eventlog.Recorded) []eventlog.Recorded { return append(l, other...) }, nil},
		"data": {func(l []eventlog.Recorded) []eventlog.Recorded {
			l[50].Data = []byte(`{}`)
			return l
		}, []string{"changed 50 [data]"}},
		"type, metadata and kind of content": {func(l []eventlog.Recorded) []eventlog.Recorded {
			l[0].Type, l[0].Metadata, l[0].Binary = "other", nil, true
			return l
		}, []string{"changed 0 [type content type metadata]"}},
		"the data of two exchanged": {func(l []eventlog.Recorded) []eventlog.Recorded {
			l[3].Data, l[9].Data = l[9].Data, l[3].Data
			return l
		}, []string{"changed 3 [data]", "changed 9 [data]"}},
		"removed, and the stream renumbered": {func(l []eventlog.Recorded) []eventlog.Recorded {
			for i := 190; i > 183; i -= 7 {
				l[i].Revision--
			}
			return slices.Delete(l, 183, 184)
		}, []string{"changed 190 [revision]", "removed 183 []"}},
		"replaced": {func(l []eventlog.Recorded) []eventlog.Recorded {
			l[60].ID, l[60].Data = other[0].ID, []byte(`{}`)
			return l
		}, []string{"changed 60 [id data]"}},
		"replaced at the end": {func(l []eventlog.Recorded) []eventlog.Recorded {
			l[199].ID = other[0].ID
			return append(l, other[1])
		}, []string{"changed 199 [id]"}},
		"removed at the beginning, in the middle and at the end": {func(l []eventlog.Recorded) []eventlog.Recorded {
			return append(slices.Delete(slices.Delete(l[1:199], 98, 100), 0, 0), other...)
		}, []string{"removed 0 []", "removed 100 []", "removed 199 []", "removed 99 []"}},
		"added at the beginning and in the middle": {func(l []eventlog.Recorded) []eventlog.Recorded {
			return slices.Insert(slices.Insert(l, 120, other[0], other[1]), 0, other[2])
		}, []string{"added new []", "added new []", "added new []"}},
		"added again": {func(l []eventlog.Recorded) []eventlog.Recorded {
			return slices.Insert(l, 120, l[100])
		}, []string{"added new []"}},
		"neighbours exchanged": {func(l []eventlog.Recorded) []eventlog.Recorded {
			l[70], l[71] = l[71], l[70]
			return l
		}, []string{"moved 70 []"}},
		"moved back": {func(l []eventlog.Recorded) []eventlog.Recorded {
			return slices.Insert(slices.Delete(slices.Clone(l), 150, 151), 20, l[150])
		}, []string{"moved 150 []"}},
		"moved behind the end, and changed": {func(l []eventlog.Recorded) []eventlog.Recorded {
			moved := l[30]
			moved.Data = []byte(`{}`)
			return append(slices.Delete(l, 30, 31), other[0], moved)
		}, []string{"moved 30 [data]"}},
		"all gone": {func([]eventlog.Recorded) []eventlog.Recorded { return nil }, removed(0, 200)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := placed(c.change(slices.Clone(copied)))
			want := append([]string{}, c.found...)
			slices.Sort(want)
			report := compared(t, copied, log)
			require.Equal(t, want, said(copied, report))
			require.EqualValues(t, len(copied), report.Compared)
			require.Equal(t, len(want) == 0, report.Same())
			require.Equal(t, want, said(copied, compared(t, copied, log, 1, 25, 25, 60)), "interrupted")
		})
	}
}

func removed(from, until int) (all []string) {
	for i := from; i < until; i++ {
		all = append(all, fmt.Sprintf("removed %d []", i))
	}
	return all
}

// Exactly the random changes are found, even after an interruption.
func TestRandomChangesAreFound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		copied := made(100 + random.IntN(400))
		log, want := []eventlog.Recorded{}, []string{}
		for i, e := range copied {
			switch random.IntN(20) {
			case 0:
				want = append(want, fmt.Sprintf("removed %d []", i))
				continue
			case 1:
				e.Data = []byte(`{}`)
				want = append(want, fmt.Sprintf("changed %d [data]", i))
			case 2:
				log = append(log, made(1)...)
				log[len(log)-1].Stream = "forged-" + uuid.NewString()
				want = append(want, "added new []")
			}
			log = append(log, e)
		}
		log = append(log, copied[0])
		log[len(log)-1].ID = uuid.New() // later
		slices.Sort(want)
		require.Equal(t, want,
			said(copied, compared(t, copied, placed(log), random.IntN(50), random.IntN(50), random.IntN(50))), "seed %d", seed)
	}
}

// More events than are read ahead may be missing, and later events are still compared.
func TestALongGapIsFollowed(t *testing.T) {
	t.Parallel()
	const gap = 70_000
	copied := made(100 + gap + 100)
	log := slices.Concat(copied[:100], copied[100+gap:])
	log[150].Data = []byte(`{}`)
	report := compared(t, copied, placed(log))
	require.EqualValues(t, len(copied), report.Compared)
	require.EqualValues(t, gap+1, uint64(len(report.Differences))+report.More)
	require.Equal(t, copied[100].ID, report.Differences[0].Copy.ID)

	// and as many events as are read ahead may have been added
	added := slices.Concat(copied[:100], made(15_000), copied[100:300])
	report = compared(t, copied[:300], placed(added))
	require.EqualValues(t, 15_000, uint64(len(report.Differences))+report.More)
	require.EqualValues(t, 300, report.Compared)
}

func TestANewerCopyIsComparedFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	log := made(300)
	first := compareFrom(t, nil, log[:100], log)
	require.True(t, first.Report.Same())
	require.EqualValues(t, 200, first.Report.Later)

	changed := slices.Clone(log)
	changed[150].Data = []byte(`{}`)
	second := compareFrom(t, &first, log[:250], changed)
	require.Equal(t, []string{"changed 150 [data]"}, said(log, second.Report))
	require.EqualValues(t, 250, second.Report.Compared)
	require.EqualValues(t, 50, second.Report.Later)
	require.Equal(t, second, compareFrom(t, &second, log[:250], changed), "no new events")

	_, err := logdiff.New("another copy", after(log), &first)
	require.ErrorContains(t, err, "another copy")
}

func TestAnUnreadableCopyIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c, err := logdiff.New("copy", func(eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
		return func(yield func(eventlog.Recorded, error) bool) { yield(eventlog.Recorded{}, broken) }
	}, nil)
	require.NoError(t, err)
	defer c.Close()
	require.ErrorIs(t, c.Add(made(1)[0]), broken)
}
