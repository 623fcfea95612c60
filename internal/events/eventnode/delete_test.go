package eventnode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
)

func softDelete(t *testing.T, client *esdb.Client, stream string, expected esdb.ExpectedRevision) error {
	t.Helper()
	_, err := client.DeleteStream(testContext(t), stream, esdb.DeleteStreamOptions{ExpectedRevision: expected})
	return err
}

func tombstone(t *testing.T, client *esdb.Client, stream string, expected esdb.ExpectedRevision) error {
	t.Helper()
	_, err := client.TombstoneStream(testContext(t), stream, esdb.TombstoneStreamOptions{ExpectedRevision: expected})
	return err
}

func TestSoftDelete(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	appendTo(t, client, "soft", esdb.NoStream{}, events("a", "b")...)

	require.NoError(t, softDelete(t, client, "soft", esdb.Revision(1)))

	_, err := readStream(t, client, "soft", esdb.ReadStreamOptions{}, everything)
	requireCode(t, esdb.ErrorCodeResourceNotFound, err)
	_, err = readStream(t, client, "soft", esdb.ReadStreamOptions{Direction: esdb.Backwards, From: esdb.End{}}, 1)
	requireCode(t, esdb.ErrorCodeResourceNotFound, err)
	_, err = tryAppend(t, client, "soft", esdb.StreamExists{}, event("x"))
	requireCode(t, esdb.ErrorCodeStreamDeleted, err)
	_, err = tryAppend(t, client, "soft", esdb.Revision(0), event("x"))
	requireCode(t, esdb.ErrorCodeWrongExpectedVersion, err)
	require.Equal(t, []string{"a", "b", "$metadata"}, kinds(readAll(t, client, esdb.ReadAllOptions{}, everything)))
	require.NoError(t, client.Close())
	require.NoError(t, node.Close())

	client = nodetest.Client(t, nodetest.StartIn(t, dir))
	_, err = readStream(t, client, "soft", esdb.ReadStreamOptions{}, everything)
	requireCode(t, esdb.ErrorCodeResourceNotFound, err)
}

// A soft-deleted stream is recreated by the next append, at the next revision.
func TestSoftDeletedStreamComesBack(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	for i, expected := range []esdb.ExpectedRevision{esdb.Any{}, esdb.NoStream{}, esdb.Revision(1)} {
		stream := fmt.Sprintf("back-%d", i)
		appendTo(t, client, stream, esdb.NoStream{}, events("a", "b")...)
		require.NoError(t, softDelete(t, client, stream, esdb.Any{}))

		result := appendTo(t, client, stream, expected, events("c", "d")...)

		require.Equal(t, uint64(3), result.NextExpectedVersion)
		require.Equal(t, []string{"c", "d"}, seen(t, client, stream))
		read, err := readStream(t, client, stream, esdb.ReadStreamOptions{Direction: esdb.Backwards, From: esdb.End{}},
			everything)
		require.NoError(t, err)
		require.Equal(t, []string{"d", "c"}, kinds(read))
		require.Equal(t, result.CommitPosition, read[0].Event.Position.Commit)
	}
}

func TestDeletionsAtExpectedRevision(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	for name, deletion := range map[string]func(*testing.T, *esdb.Client, string, esdb.ExpectedRevision) error{
		"delete": softDelete, "tombstone": tombstone,
	} {
		appendTo(t, client, name, esdb.NoStream{}, events("a", "b")...)
		for _, wrong := range []esdb.ExpectedRevision{esdb.NoStream{}, esdb.Revision(0), esdb.Revision(2)} {
			err := deletion(t, client, name, wrong)
			requireCode(t, esdb.ErrorCodeUnknown, err)
			require.ErrorContains(t, err, "WrongExpectedVersion")
			require.ErrorContains(t, err, "Actual version: 1")
		}
		require.NoError(t, deletion(t, client, name, esdb.StreamExists{}))
	}
	err := softDelete(t, client, "never-written", esdb.Any{})
	require.ErrorContains(t, err, "WrongExpectedVersion")
}

func TestTombstone(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	appendTo(t, client, "ended", esdb.NoStream{}, events("a", "b")...)
	live := subscribeStream(t, client, "ended", esdb.Start{})
	live.expect("a", "b", "caught up")

	require.NoError(t, tombstone(t, client, "ended", esdb.Revision(1)))
	require.NoError(t, tombstone(t, client, "never-written", esdb.NoStream{}))

	live.expect("$streamDeleted", "dropped")
	checkTombstoned(t, client)
	require.NoError(t, client.Close())
	require.NoError(t, node.Close())
	checkTombstoned(t, nodetest.Client(t, nodetest.StartIn(t, dir)))
}

func checkTombstoned(t *testing.T, client *esdb.Client) {
	t.Helper()
	for _, stream := range []string{"ended", "never-written"} {
		for _, expected := range []esdb.ExpectedRevision{esdb.Any{}, esdb.NoStream{}, esdb.StreamExists{}, esdb.Revision(1)} {
			_, err := tryAppend(t, client, stream, expected, event("x"))
			requireCode(t, esdb.ErrorCodeStreamDeleted, err)
		}
		_, err := readStream(t, client, stream, esdb.ReadStreamOptions{}, everything)
		requireCode(t, esdb.ErrorCodeStreamDeleted, err)
		_, err = client.SubscribeToStream(testContext(t), stream, esdb.SubscribeToStreamOptions{From: esdb.Start{}})
		requireCode(t, esdb.ErrorCodeStreamDeleted, err)
		requireCode(t, esdb.ErrorCodeStreamDeleted, tombstone(t, client, stream, esdb.Any{}))
		requireCode(t, esdb.ErrorCodeStreamDeleted, softDelete(t, client, stream, esdb.Any{}))
		_, err = client.SetStreamMetadata(testContext(t), stream, esdb.AppendToStreamOptions{}, esdb.StreamMetadata{})
		requireCode(t, esdb.ErrorCodeStreamDeleted, err)
	}
}

func TestStreamMetadata(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	set := func(stream string, change func(*esdb.StreamMetadata)) { describe(t, client, stream, change) }
	seen := func(stream string) []string { return seen(t, client, stream) }
	for _, stream := range []string{"count", "before", "age", "custom"} {
		appendTo(t, client, stream, esdb.NoStream{}, events("a", "b", "c")...)
	}

	set("count", func(m *esdb.StreamMetadata) { m.SetMaxCount(2) })
	require.Equal(t, []string{"b", "c"}, seen("count"))
	appendTo(t, client, "count", esdb.Any{}, event("d"))
	require.Equal(t, []string{"c", "d"}, seen("count"))

	set("before", func(m *esdb.StreamMetadata) { m.SetTruncateBefore(1) })
	require.Equal(t, []string{"b", "c"}, seen("before"))
	set("before", func(m *esdb.StreamMetadata) { m.SetTruncateBefore(2) })
	require.Equal(t, []string{"c"}, seen("before"))
	set("before", func(m *esdb.StreamMetadata) { m.SetTruncateBefore(99) })
	require.Empty(t, seen("before"))

	set("age", func(m *esdb.StreamMetadata) { m.SetMaxAge(time.Hour) })
	require.Equal(t, []string{"a", "b", "c"}, seen("age"))
	set("age", func(m *esdb.StreamMetadata) { m.SetMaxAge(time.Second) })
	require.Eventually(t, func() bool { return len(seen("age")) == 0 }, patience, 10*time.Millisecond)
	require.Len(t, readAll(t, client, esdb.ReadAllOptions{}, 12), 12, "$all shows what streams hide")

	// The last metadata is valid, and deletion and recreation keep its other fields.
	set("custom", func(m *esdb.StreamMetadata) { m.AddCustomProperty("note", "first") })
	set("custom", func(m *esdb.StreamMetadata) { m.AddCustomProperty("note", "second") })
	require.Equal(t, []string{"a", "b", "c"}, seen("custom"))
	metadata, err := client.GetStreamMetadata(testContext(t), "custom", esdb.ReadStreamOptions{})
	require.NoError(t, err)
	require.Equal(t, "second", metadata.CustomProperty("note"))
}

// Only metadata that is flagged as JSON is valid.
func TestBinaryMetadata(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	set := func(kind esdb.ContentType, data string) {
		appendTo(t, client, "$$described", esdb.Any{}, esdb.EventData{EventType: "$metadata", ContentType: kind,
			Data: []byte(data)})
	}
	seen := func() []string { return seen(t, client, "described") }
	appendTo(t, client, "described", esdb.NoStream{}, events("a", "b", "c")...)
	set(esdb.ContentTypeJson, `{"$maxCount":1}`)
	require.Equal(t, []string{"c"}, seen())

	set(esdb.ContentTypeBinary, `{"$maxCount":2}`)
	require.Equal(t, []string{"a", "b", "c"}, seen())
	set(esdb.ContentTypeBinary, `{"$tb":9223372036854775807}`)
	require.Equal(t, []string{"a", "b", "c"}, seen())
	appendTo(t, client, "described", esdb.StreamExists{}, event("d"))
	require.Equal(t, []string{"a", "b", "c", "d"}, seen())
	require.NoError(t, client.Close())
	require.NoError(t, node.Close())

	client = nodetest.Client(t, nodetest.StartIn(t, dir))
	require.Equal(t, []string{"a", "b", "c", "d"}, seen())
}

// If its metadata stream is tombstoned, a stream cannot be soft-deleted. Other operations still work.
func TestDeleteAfterTombstoneOfMetadata(t *testing.T) {
	dir := nodetest.Dir(t)
	node := nodetest.Open(t, dir)
	client := nodetest.Client(t, nodetest.Socket(dir))
	for _, stream := range []string{"alive", "soft"} {
		appendTo(t, client, stream, esdb.NoStream{}, events("a", "b")...)
	}
	require.NoError(t, softDelete(t, client, "soft", esdb.Any{}))
	for _, stream := range []string{"alive", "soft", "never-written"} {
		require.NoError(t, tombstone(t, client, "$$"+stream, esdb.Any{}))

		requireCode(t, esdb.ErrorCodeStreamDeleted, softDelete(t, client, stream, esdb.Any{}))
	}
	for _, stream := range []string{"alive", "soft"} {
		require.Equal(t, uint64(2), appendTo(t, client, stream, esdb.Revision(1), event("c")).NextExpectedVersion)
		require.Equal(t, []string{"a", "b", "c"}, seen(t, client, stream))
	}
	require.NoError(t, client.Close())
	require.NoError(t, node.Close())

	client = nodetest.Client(t, nodetest.StartIn(t, dir)) // the log is verified
	require.Len(t, readAll(t, client, esdb.ReadAllOptions{}, everything), 10)
}

// Setting metadata on a soft-deleted stream recreates it, with the events so far hidden.
func TestMetadataBringsStreamBack(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	appendTo(t, client, "back", esdb.NoStream{}, events("a", "b")...)
	require.NoError(t, softDelete(t, client, "back", esdb.Any{}))

	describe(t, client, "back", func(m *esdb.StreamMetadata) { m.AddCustomProperty("note", "kept") })

	require.Empty(t, seen(t, client, "back"))
	now, err := client.GetStreamMetadata(testContext(t), "back", esdb.ReadStreamOptions{})
	require.NoError(t, err)
	require.Equal(t, "kept", now.CustomProperty("note"))
	require.Equal(t, uint64(2), *now.TruncateBefore())
	appendTo(t, client, "back", esdb.Revision(1), event("c"))
	require.Equal(t, []string{"c"}, seen(t, client, "back"))
}

// Deletions and appends in the same group see each other.
func TestDeletionsInOneGroup(t *testing.T) {
	client := nodetest.Client(t, nodetest.Start(t))
	const rounds = 50
	done := make(chan error, 2)
	appendTo(t, client, "busy", esdb.NoStream{}, event("first"))
	go func() {
		var err error
		for range rounds {
			if _, e := tryAppend(t, client, "busy", esdb.Any{}, event("x")); e != nil {
				err = e
			}
		}
		done <- err
	}()
	go func() {
		var err error
		for range rounds {
			if e := softDelete(t, client, "busy", esdb.Any{}); e != nil {
				err = e
			}
		}
		done <- err
	}()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	last := appendTo(t, client, "busy", esdb.Any{}, event("last"))
	require.Equal(t, uint64(rounds+1), last.NextExpectedVersion)
	read, err := readStream(t, client, "busy", esdb.ReadStreamOptions{Direction: esdb.Backwards, From: esdb.End{}}, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"last"}, kinds(read))
}
