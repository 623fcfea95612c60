package audit_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/readapi/audit"
)

// A page is read in the order of the account's index up to its last entry, not sorted from the whole history, with any
// other filter and however many entries the account has.
func TestAPageByAccountAndKindReadsNoMoreThanItPasses(t *testing.T) {
	d := newServer(t)
	d.fill(1000)
	entries := fmt.Sprintf("rm_audit_v%d_g1.audit_entries", readmodel.Audit.Version)
	_, err := d.Pool.Exec(t.Context(), `insert into `+entries+` select (jsonb_populate_record(e, jsonb_build_object(
		'log_commit', log_commit + n::bigint * 100000000, 'log_prepare', log_prepare + n::bigint * 100000000,
		'at', at + n * interval '1000 seconds'))).*
		from `+entries+` as e, generate_series(1, 40) as n`)
	require.NoError(t, err)
	_, err = d.Pool.Exec(t.Context(), "vacuum analyze "+entries)
	require.NoError(t, err)

	sql, arguments := audit.EntriesQuery("sessions", "big", "session-ended")
	var text string
	row := d.Pool.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+sql, arguments...)
	require.NoError(t, row.Scan(&text))
	var explained []struct {
		Plan struct {
			Rows int `json:"Actual Rows"`
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &explained))
	plan := explained[0].Plan
	require.Equal(t, 101, plan.Rows)
	// a fifth of the account's entries match, an entry is at most a block, and the index has some blocks
	require.Less(t, plan.Hit+plan.Read, 5*101+100, text)
}
