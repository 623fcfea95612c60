package backup

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/logcopy"
)

// partSize is the size at which a part of the log ends, in bytes.
const partSize = 64 << 20

// WriteLog writes the events of a stream of records into parts of the log, and notes each part in the draft as soon as
// it is complete, so that the next run continues after it if this one crashes or the stream is cut. after is called
// with each event.
func (r *Run) WriteLog(from *logcopy.Reader, after func(eventlog.Recorded)) error {
	if err := r.admit(from.Header().Identity); err != nil {
		return err
	}
	for {
		more, err := r.writePart(from, after)
		if err != nil || !more {
			return err
		}
	}
}

// admit refuses another log, or another epoch of the same log, which may lack the last events of the backup.
func (r *Run) admit(id eventlog.Identity) error {
	if r.draft.Run == 1 && len(r.draft.Log) == 0 {
		r.draft.LogID, r.draft.Epoch = id.LogID, id.Epoch
	}
	if id != r.draft.Identity() {
		return fmt.Errorf("the folder has the backup of another log, or of the time before this one was restored (log %s, "+
			"epoch %d, and not %s, %d); "+
			"give another folder", r.draft.LogID, r.draft.Epoch, id.LogID, id.Epoch)
	}
	return nil
}

// writePart writes one part, and reports whether there may be more. Events before the end of a cut stream are kept.
func (r *Run) writePart(from *logcopy.Reader, after func(eventlog.Recorded)) (more bool, err error) {
	last, err := r.draft.Position()
	if err != nil {
		return false, err
	}
	name := fmt.Sprintf("log/%06d.zst", len(r.draft.Log)+1)
	out, err := r.folder.createPacked(name)
	if err != nil {
		return false, err
	}
	defer out.discard()
	records, err := logcopy.NewWriter(out, logcopy.Header{Identity: r.draft.Identity(), After: last})
	if err != nil {
		return false, err
	}
	var events uint64
	var cut error
	for out.file.size < partSize {
		event, err := from.Next()
		if err != nil {
			cut = err
			break
		}
		if err := records.Write(event); err != nil {
			return false, err
		}
		last, events = event.Position, events+1
		after(event)
	}
	if events > 0 {
		if err := records.End(); err != nil {
			return false, err
		}
		if err := r.note(out, events, last); err != nil {
			return false, err
		}
	}
	if errors.Is(cut, io.EOF) {
		return false, nil
	}
	return true, cut
}

// note adds a part to the draft.
func (r *Run) note(out *packed, events uint64, last eventlog.Position) error {
	part, err := out.finish()
	if err != nil {
		return err
	}
	part.Events, part.Position = events, last.String()
	r.draft.Log = append(r.draft.Log, part)
	r.draft.Events += events
	return r.folder.write(draftName, r.draft)
}

// Events yields the events of a backup in log order. Errors name the file.
func (f *Folder) Events(m Manifest) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		after := eventlog.Start()
		for _, part := range m.Log {
			for event, err := range f.partEvents(m, part, after) {
				if err != nil {
					err = fmt.Errorf("%s: %w", part.File, err)
				}
				if !yield(event, err) || err != nil {
					return
				}
				after = event.Position
			}
			if after.String() != part.Position {
				yield(eventlog.Recorded{}, fmt.Errorf("%s %w: it ends at position %s instead of %s", part.File, ErrDamaged, after,
					part.Position))
				return
			}
		}
	}
}

func (f *Folder) partEvents(m Manifest, part Part, after eventlog.Position) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		from, err := f.unpack(part.File)
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		defer from.Close()
		records, err := logcopy.NewReader(from)
		if err == nil && (records.Header().Identity != m.Identity() || records.Header().After != after) {
			err = fmt.Errorf("%w: it does not follow the part before it", ErrDamaged)
		}
		if err != nil {
			yield(eventlog.Recorded{}, err)
			return
		}
		records.Events()(yield)
	}
}
