package table

import (
	"strconv"
	"testing"
	"time"
)

type benchRow struct {
	ID         string    `col:"id,key"`
	Stream     string    `col:"stream"`
	Account    string    `col:"account_id"`
	Characters int64     `col:"characters"`
	ExpiresAt  time.Time `col:"expires_at"`
}

// BenchmarkRows collects the row operations of a page of events: put, add and delete.
func BenchmarkRows(b *testing.B) {
	t := Of[benchRow]("reservations")
	characters := t.Fields("characters")
	now := time.Now()
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = "reservation-" + strconv.Itoa(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		rows := NewRows([]*Table{t.Table})
		for i, id := range ids {
			t.Put(rows, benchRow{ID: id, Stream: "usage-account", Account: "account", Characters: int64(1000 + i),
				ExpiresAt: now})
			characters.Add(rows, benchRow{ID: id, Characters: 120})
			if i%3 == 0 {
				t.Delete(rows, benchRow{ID: id})
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/event")
}
