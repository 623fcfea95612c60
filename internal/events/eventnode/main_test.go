package eventnode_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(runChild(dir))
	}
	goleak.VerifyTestMain(m)
}

// patience bounds waits of tests; it only matters if a test fails.
const patience = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	return ctx
}

func event(kind string) esdb.EventData {
	return esdb.EventData{
		EventID:     uuid.New(),
		EventType:   kind,
		ContentType: esdb.ContentTypeJson,
		Data:        []byte(`{"kind":"` + kind + `"}`),
		Metadata:    []byte(`{"by":"test"}`),
	}
}

func events(kinds ...string) []esdb.EventData {
	made := make([]esdb.EventData, 0, len(kinds))
	for _, kind := range kinds {
		made = append(made, event(kind))
	}
	return made
}

func numbered(n int) []esdb.EventData {
	made := make([]esdb.EventData, 0, n)
	for i := range n {
		made = append(made, event(fmt.Sprintf("event-%d", i)))
	}
	return made
}

func appendTo(
	t testing.TB, client *esdb.Client, stream string, expected esdb.ExpectedRevision, list ...esdb.EventData,
) *esdb.WriteResult {
	t.Helper()
	result, err := client.AppendToStream(testContext(t), stream, esdb.AppendToStreamOptions{ExpectedRevision: expected},
		list...)
	require.NoError(t, err)
	return result
}

func tryAppend(
	t testing.TB, client *esdb.Client, stream string, expected esdb.ExpectedRevision, list ...esdb.EventData,
) (*esdb.WriteResult, error) {
	t.Helper()
	return client.AppendToStream(testContext(t), stream, esdb.AppendToStreamOptions{ExpectedRevision: expected}, list...)
}

func requireCode(t testing.TB, code esdb.ErrorCode, err error) {
	t.Helper()
	require.Error(t, err)
	var known *esdb.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, code, known.Code(), "error: %v", err)
}

// drain receives until the end of a read.
func drain(stream *esdb.ReadStream) ([]*esdb.ResolvedEvent, error) {
	defer stream.Close()
	var all []*esdb.ResolvedEvent
	for {
		resolved, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, resolved)
	}
}

func readStream(
	t testing.TB, client *esdb.Client, stream string, options esdb.ReadStreamOptions, count uint64,
) ([]*esdb.ResolvedEvent, error) {
	t.Helper()
	read, err := client.ReadStream(testContext(t), stream, options, count)
	require.NoError(t, err)
	return drain(read)
}

func readAll(t testing.TB, client *esdb.Client, options esdb.ReadAllOptions, count uint64) []*esdb.ResolvedEvent {
	t.Helper()
	read, err := client.ReadAll(testContext(t), options, count)
	require.NoError(t, err)
	all, err := drain(read)
	require.NoError(t, err)
	return all
}

// kinds returns the types of the events, which the tests use as names.
func kinds(list []*esdb.ResolvedEvent) []string {
	names := []string{}
	for _, resolved := range list {
		names = append(names, resolved.Event.EventType)
	}
	return names
}

const everything = 1 << 40

// seen returns the names of the visible events of a stream.
func seen(t testing.TB, client *esdb.Client, stream string) []string {
	t.Helper()
	read, err := readStream(t, client, stream, esdb.ReadStreamOptions{}, everything)
	require.NoError(t, err)
	return kinds(read)
}

// describe sets the metadata of a stream.
func describe(t testing.TB, client *esdb.Client, stream string, change func(*esdb.StreamMetadata)) {
	t.Helper()
	var metadata esdb.StreamMetadata
	change(&metadata)
	_, err := client.SetStreamMetadata(testContext(t), stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}},
		metadata)
	require.NoError(t, err)
}
