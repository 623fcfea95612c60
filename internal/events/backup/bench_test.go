package backup_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/backup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/events/logcopy"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkBackupOfTheLog copies a log into a backup, verified and flushed, compared with only reading it.
func BenchmarkBackupOfTheLog(b *testing.B) {
	log, err := esdb.Open(esdb.Config{Socket: nodetest.Start(b)})
	require.NoError(b, err)
	b.Cleanup(func() { _ = log.Close() })
	written := fill(b, log, benchtest.Size(200_000, 20_000))
	var ours, bare time.Duration
	for b.Loop() {
		begun := time.Now()
		for _, err := range logcopy.Read(b.Context(), log, eventlog.Start(), eventlog.Start()) {
			require.NoError(b, err)
		}
		bare += time.Since(begun)
		begun = time.Now()
		backLog(b, log)
		ours += time.Since(begun)
	}
	rate := func(d time.Duration) float64 { return float64(written) * float64(b.N) / 1e6 / d.Seconds() }
	benchtest.Compare(b, "MB/s", rate(ours), rate(bare))
	benchtest.Finish(b)
}

// fill appends events of typical size and returns their total size in bytes.
func fill(b *testing.B, log eventlog.Log, events int) (written int) {
	b.Helper()
	const batch = 500
	data := bytes.Repeat([]byte(`{"characters":123,"at":"2026-11-22T12:00:00Z"},`), 6)
	for n := 0; n < events; n += batch {
		all := make([]eventlog.Proposed, batch)
		for i := range all {
			all[i] = eventlog.Proposed{ID: uuid.New(), Type: "happened", Data: fmt.Appendf(nil, `[%s%d]`, data, n+i),
				Metadata: []byte(`{"time":"2026-11-22T12:00:00Z"}`)}
			written += len(all[i].Data) + len(all[i].Metadata)
		}
		_, err := log.Append(b.Context(), fmt.Sprint("x-", n), eventlog.NoStream, all)
		require.NoError(b, err)
	}
	return written
}

// backLog copies the log like recitald and recitalctl do.
func backLog(b *testing.B, log eventlog.Log) {
	b.Helper()
	folder, err := backup.Open(filepath.Join(b.TempDir(), "backup"))
	require.NoError(b, err)
	defer folder.Close()
	run, err := folder.Begin(time.Now())
	require.NoError(b, err)
	from, to := io.Pipe()
	go func() { to.CloseWithError(send(b, log, to)) }()
	records, err := logcopy.NewReader(from)
	require.NoError(b, err)
	require.NoError(b, run.WriteLog(records, ignoreEvent))
}

func send(b *testing.B, log eventlog.Log, to io.Writer) error {
	out := bufio.NewWriterSize(to, 64<<10) // as GET /admin/log
	records, err := logcopy.NewWriter(out, logcopy.Header{Identity: eventlog.Identity{LogID: uuid.New(), Epoch: 1}})
	if err != nil {
		return err
	}
	for event, err := range logcopy.Read(b.Context(), log, eventlog.Start(), eventlog.Start()) {
		if err == nil {
			err = records.Write(event)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(records.End(), out.Flush())
}
