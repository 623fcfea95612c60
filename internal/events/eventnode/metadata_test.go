package eventnode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseRetention(t *testing.T) {
	for data, want := range map[string]retention{
		`{}`:                                  {},
		`{"$tb":3,"other":true}`:              {truncateBefore: 3},
		`{"$maxCount":2,"$maxAge":5}`:         {maxCount: 2, maxAge: 5 * time.Second},
		string(softDeletion()):                {truncateBefore: tombstoneRevision},
		``:                                    {},
		`[]`:                                  {},
		`{"$MAXCOUNT":2,"$TB":1,"$maxage":1}`: {},
		`{"$tb":2,"$Tb":1}`:                   {truncateBefore: 2},

		// A value below 1 is not a limit.
		`{"$tb":-1,"$maxCount":2}`:          {maxCount: 2},
		`{"$tb":1,"$maxCount":0}`:           {truncateBefore: 1},
		`{"$tb":1,"$maxAge":-5}`:            {truncateBefore: 1},
		`{"$tb":1,"$maxAge":922337203685}`:  {truncateBefore: 1},
		`{"$tb":1,"$maxAge":-922337203685}`: {truncateBefore: 1},

		// Metadata with a value of another type is ignored as a whole.
		`{"$tb":1.5,"$maxCount":2}`:          {},
		`{"$tb":"1"}`:                        {},
		`{"$tb":1,"$maxCount":null}`:         {},
		`{"$tb":1,"$maxAge":99922337203685}`: {},
		`{"$tb":9223372036854775808}`:        {},
	} {
		require.Equal(t, want, parseRetention([]byte(data)), data)
	}
}

// Any metadata is parsed without a panic, and a stream that was recreated is not soft-deleted.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"$tb":3,"$maxCount":2,"$maxAge":5,"other":{"a":[1]}}`), int64(7))
	f.Add([]byte(`{"$tb":9223372036854775807}`), int64(0))
	f.Add([]byte(`null`), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, revision int64) {
		revision &= 1<<62 - 1
		before := parseRetention(data)
		require.GreaterOrEqual(t, before.truncateBefore, int64(0))
		changed, ok := withTruncateBefore(data, revision)
		if before.softDeleted() {
			require.True(t, ok)
			require.Equal(t, revision, parseRetention(changed).truncateBefore)
		}
	})
}
