package eventnode

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// The metadata of a stream s is the data of the last event of the stream $$s. It says which events readers see; events
// are never removed from the log.
const (
	metadataPrefix  = "$$"
	kindMetadata    = "$metadata"
	kindTombstone   = "$streamDeleted"
	keyTruncate     = "$tb"
	metadataHistory = 1 // how many events of a metadata stream readers see
)

// retention is which events of a stream are seen. Its zero value hides none.
type retention struct {
	truncateBefore int64 // revision of the first event that is seen
	maxCount       int64 // how many of the last events are seen, if positive
	maxAge         time.Duration
}

// softDeleted streams have no events for readers, and go on at the next revision when they are written again.
func (r retention) softDeleted() bool { return r.truncateBefore == tombstoneRevision }

// first is the revision of the first event that may be seen when the last one is given.
func (r retention) first(last int64) int64 {
	if r.maxCount > 0 {
		return max(r.truncateBefore, last-r.maxCount+1)
	}
	return r.truncateBefore
}

// keep leaves out events that are too old.
func (r retention) keep(now time.Time) filter {
	if r.maxAge <= 0 {
		return nil
	}
	oldest := now.Add(-r.maxAge)
	return func(event record) bool { return !event.created().Before(oldest) }
}

// parseRetention reads stream metadata. As in EventStoreDB, metadata that is not valid says nothing.
func parseRetention(data []byte) retention {
	var metadata struct {
		TruncateBefore *int64 `json:"$tb"`
		MaxCount       *int64 `json:"$maxCount"`
		MaxAge         *int64 `json:"$maxAge"` // seconds
	}
	if json.Unmarshal(data, &metadata) != nil {
		return retention{}
	}
	var r retention
	if metadata.TruncateBefore != nil {
		r.truncateBefore = *metadata.TruncateBefore
	}
	if metadata.MaxCount != nil {
		r.maxCount = *metadata.MaxCount
	}
	if metadata.MaxAge != nil {
		if *metadata.MaxAge > math.MaxInt64/int64(time.Second) {
			return retention{}
		}
		r.maxAge = time.Duration(*metadata.MaxAge) * time.Second
	}
	invalid := r.truncateBefore < 0 ||
		metadata.MaxCount != nil && r.maxCount <= 0 ||
		metadata.MaxAge != nil && r.maxAge <= 0
	if invalid {
		return retention{}
	}
	return r
}

// softDeletion is the metadata of a soft-deleted stream.
func softDeletion() []byte { return []byte(`{"$tb":9223372036854775807}`) }

// withTruncateBefore is the metadata with another $tb; ok is false when it is no JSON object.
func withTruncateBefore(data []byte, revision int64) (changed []byte, ok bool) {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(data, &metadata) != nil || metadata == nil {
		return nil, false
	}
	number, err := json.Marshal(revision)
	if err != nil {
		return nil, false
	}
	metadata[keyTruncate] = number
	changed, err = json.Marshal(metadata)
	return changed, err == nil
}

// metadataStream is the stream that holds a stream's metadata.
func metadataStream(stream string) string { return metadataPrefix + stream }

// describedStream is the stream whose metadata a stream holds, if it is a metadata stream.
func describedStream(stream string) (string, bool) {
	described, found := strings.CutPrefix(stream, metadataPrefix)
	return described, found && described != ""
}

// retention is which events of the stream are seen, going by what stands at or before the position head.
func (s *store) retention(stream string, head uint64) (retention, error) {
	if _, describes := describedStream(stream); describes {
		return retention{maxCount: metadataHistory}, nil
	}
	data, err := s.metadata(stream, head)
	if err != nil || data == nil {
		return retention{}, err
	}
	return parseRetention(data), nil
}

// metadata is a stream's metadata, nil without any.
func (s *store) metadata(stream string, head uint64) ([]byte, error) {
	name := metadataStream(stream)
	last, err := s.lastWritten(name, head)
	if err != nil || last == noStream {
		return nil, err
	}
	event, _, found, err := s.event(name, last)
	if err != nil || !found {
		return nil, err
	}
	return event.data(), nil
}
