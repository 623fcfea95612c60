package eventnode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

// logModel is a model of the log.
type logModel struct {
	prefix  string
	streams map[string][]uuid.UUID
	all     []modelEvent
}

type modelEvent struct {
	stream   string
	revision uint64
	id       uuid.UUID
}

// expect returns whether an append of the ids succeeds, and whether it adds events.
func (m *logModel) expect(stream string, expected esdb.ExpectedRevision, ids []uuid.UUID) (succeeds, adds bool) {
	have := m.streams[stream]
	var at int // number of events that the append expects before its own
	switch e := expected.(type) {
	case esdb.StreamExists:
		if len(have) == 0 {
			return false, false
		}
		return m.expectAny(have, ids)
	case esdb.Any:
		return m.expectAny(have, ids)
	case esdb.NoStream:
		at = 0
	case esdb.StreamRevision:
		at = int(e.Value) + 1
	}
	if at == len(have) {
		return true, true
	}
	if at > len(have) || len(ids) == 0 || at+len(ids) > len(have) {
		return false, false
	}
	return slices.Equal(have[at:at+len(ids)], ids), false
}

func (m *logModel) expectAny(have, ids []uuid.UUID) (succeeds, adds bool) {
	for i, id := range ids {
		if !slices.Contains(have, id) {
			return i == 0, i == 0
		}
	}
	return true, len(ids) == 0
}

func (m *logModel) add(stream string, ids []uuid.UUID) {
	for _, id := range ids {
		m.all = append(m.all, modelEvent{stream: stream, revision: uint64(len(m.streams[stream])), id: id})
		m.streams[stream] = append(m.streams[stream], id)
	}
}

func (m *logModel) drawExpected(t *rapid.T, stream string) esdb.ExpectedRevision {
	switch rapid.IntRange(0, 6).Draw(t, "expected") {
	case 0:
		return esdb.Any{}
	case 1:
		return esdb.StreamExists{}
	case 2:
		return esdb.NoStream{}
	case 3:
		return esdb.Revision(rapid.Uint64Range(0, 8).Draw(t, "revision"))
	default: // the correct one, so that streams grow
		if length := len(m.streams[stream]); length > 0 {
			return esdb.Revision(uint64(length - 1))
		}
		return esdb.NoStream{}
	}
}

// drawIDs mixes new ids with runs of ids that the stream has.
func (m *logModel) drawIDs(t *rapid.T, stream string) []uuid.UUID {
	var ids []uuid.UUID
	if have := m.streams[stream]; len(have) > 0 && rapid.IntRange(0, 2).Draw(t, "repeat") == 0 {
		from := rapid.IntRange(0, len(have)-1).Draw(t, "from")
		to := rapid.IntRange(from, min(from+3, len(have)-1)).Draw(t, "to")
		ids = append(ids, have[from:to+1]...)
	}
	for range rapid.IntRange(0, 3).Draw(t, "new") {
		ids = append(ids, uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")))
	}
	return ids
}

// Random appends with random expectations get the model's results, and all reads equal the model, even after the node
// is reopened.
func TestModel(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	run, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		m := &logModel{prefix: fmt.Sprintf("run-%d-", run), streams: map[string][]uuid.UUID{}}
		start := total
		for range rapid.IntRange(1, 25).Draw(t, "appends") {
			m.appendSome(t, client)
		}
		total += len(m.all)
		m.checkAll(t, client, uint64(start))
		m.checkStreams(t, client)
	})
	before := readAll(t, client, esdb.ReadAllOptions{}, everything)
	require.Len(t, before, total)
	require.NoError(t, client.Close())
	require.NoError(t, node.Close())

	client = nodetest.Client(t, nodetest.StartIn(t, dir))
	require.Equal(t, before, readAll(t, client, esdb.ReadAllOptions{}, everything))
}

func (m *logModel) appendSome(t *rapid.T, client *esdb.Client) {
	stream := m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "stream")
	expected := m.drawExpected(t, stream)
	ids := m.drawIDs(t, stream)
	succeeds, adds := m.expect(stream, expected, ids)
	list := make([]esdb.EventData, 0, len(ids))
	for _, id := range ids {
		e := event("model")
		e.EventID = id
		list = append(list, e)
	}

	result, err := client.AppendToStream(context.Background(), stream,
		esdb.AppendToStreamOptions{ExpectedRevision: expected}, list...)

	if !succeeds {
		var known *esdb.Error
		require.ErrorAs(t, err, &known)
		require.Equal(t, esdb.ErrorCodeWrongExpectedVersion, known.Code())
		return
	}
	require.NoError(t, err)
	if adds {
		m.add(stream, ids)
	}
	if adds && len(ids) > 0 {
		require.Equal(t, uint64(len(m.streams[stream])-1), result.NextExpectedVersion)
	}
}

// checkAll compares the events of this run, which are the last in the log.
func (m *logModel) checkAll(t *rapid.T, client *esdb.Client, start uint64) {
	forwards := m.read(t, client, esdb.Forwards, start+uint64(len(m.all)))
	require.Equal(t, m.all, append([]modelEvent(nil), forwards[min(start, uint64(len(forwards))):]...))
	backwards := m.read(t, client, esdb.Backwards, uint64(len(m.all)))
	slices.Reverse(backwards)
	require.Equal(t, m.all, backwards)
}

func (m *logModel) read(t *rapid.T, client *esdb.Client, direction esdb.Direction, count uint64) []modelEvent {
	if count == 0 {
		return nil
	}
	options := esdb.ReadAllOptions{Direction: direction, From: esdb.Start{}}
	if direction == esdb.Backwards {
		options.From = esdb.End{}
	}
	read, err := client.ReadAll(context.Background(), options, count)
	require.NoError(t, err)
	all, err := drain(read)
	require.NoError(t, err)
	var list []modelEvent
	for _, resolved := range all {
		e := resolved.Event
		list = append(list, modelEvent{stream: e.StreamID, revision: e.EventNumber, id: e.EventID})
	}
	return list
}

func (m *logModel) checkStreams(t *rapid.T, client *esdb.Client) {
	for stream, ids := range m.streams {
		from := rapid.Uint64Range(0, uint64(len(ids)-1)).Draw(t, "read from")
		require.Equal(t, ids[from:], m.readStream(t, client, stream, esdb.Forwards, from))
		backwards := m.readStream(t, client, stream, esdb.Backwards, from)
		slices.Reverse(backwards)
		require.Equal(t, ids[:from+1], backwards)
	}
}

func (m *logModel) readStream(
	t *rapid.T, client *esdb.Client, stream string, direction esdb.Direction, from uint64,
) []uuid.UUID {
	read, err := client.ReadStream(context.Background(), stream,
		esdb.ReadStreamOptions{Direction: direction, From: esdb.Revision(from)}, everything)
	require.NoError(t, err)
	all, err := drain(read)
	require.NoError(t, err)
	var ids []uuid.UUID
	for _, resolved := range all {
		ids = append(ids, resolved.Event.EventID)
	}
	return ids
}
