package eventlog

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

var writtenMetadata = Metadata{
	CorrelationID: "0190b0c0-0000-7000-8000-000000000001",
	CausationID:   uuid.MustParse("0190b0c0-0000-7000-8000-000000000002"),
	CommandID:     uuid.MustParse("0190b0c0-0000-7000-8000-000000000003"),
	Actor:         Actor{Kind: ActorAccount, Account: "a1", Key: "rk_abcd****wxyz", Session: "s1"},
	Version:       12,
	Time:          time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC),
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// The output of Encode is parsed without encoding/json. Otherwise the fast path would be useless.
func TestMetadataAsItIsWrittenIsCanonical(t *testing.T) {
	system := Metadata{CommandID: writtenMetadata.CommandID, Actor: Actor{Kind: ActorSystem}, Version: 1,
		Time: writtenMetadata.Time}
	foreign := system
	foreign.Actor.Kind = "of a later release"
	operator := system
	operator.Actor = Actor{Kind: ActorOperator, Name: "alice"}
	request := writtenMetadata
	request.CorrelationID = "req_NCwcMfUDpDJoBg7QaMnYRk"
	sealed := writtenMetadata
	sealed.From = []byte("\x01\xff\xfe sealed")
	for _, meta := range []Metadata{writtenMetadata, system, foreign, operator, request, sealed} {
		raw, err := json.Marshal(meta)
		require.NoError(t, err)
		read, ok := parseCanonical(raw)
		require.True(t, ok, "%s", raw)
		require.Equal(t, meta, read)
	}
}

func TestOtherMetadataIsReadByEncodingJSON(t *testing.T) {
	tests := map[string]struct {
		raw  string
		want Metadata
	}{
		"spaces":         {` { "v" : 3 } `, Metadata{Version: 3}},
		"another order":  {`{"v":3,"actor":{"kind":"system"}}`, Metadata{Version: 3, Actor: Actor{Kind: ActorSystem}}},
		"an unknown key": {`{"v":3,"colour":"red"}`, Metadata{Version: 3}},
		"a key twice": {`{"actor":{"kind":"system"},"v":2,"v":3}`,
			Metadata{Version: 3, Actor: Actor{Kind: ActorSystem}}},
		"an escape": {`{"actor":{"kind":"system","account":"\u0061"},"v":3}`,
			Metadata{Version: 3, Actor: Actor{Kind: ActorSystem, Account: "a"}}},
		"letters": {`{"actor":{"kind":"system","account":"ä"},"v":3}`,
			Metadata{Version: 3, Actor: Actor{Kind: ActorSystem, Account: "ä"}}},
		"broken UTF-8": {"{\"actor\":{\"kind\":\"system\",\"account\":\"\xff\"},\"v\":3}",
			Metadata{Version: 3, Actor: Actor{Kind: ActorSystem, Account: "\ufffd"}}},
		"an id in braces": {`{"commandId":"{0190b0c0-0000-7000-8000-000000000003}","v":3}`,
			Metadata{Version: 3, CommandID: writtenMetadata.CommandID}},
		"an id that's null": {`{"commandId":null,"v":3}`, Metadata{Version: 3}},
		"from nowhere": {`{"actor":{"kind":"system"},"v":3,"time":"2026-01-02T12:00:00Z","from":""}`,
			Metadata{Version: 3, Actor: Actor{Kind: ActorSystem}, Time: noon}},
		"from null": {`{"actor":{"kind":"system"},"v":3,"time":"2026-01-02T12:00:00Z","from":null}`,
			Metadata{Version: 3, Actor: Actor{Kind: ActorSystem}, Time: noon}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, ok := parseCanonical([]byte(test.raw))
			require.False(t, ok)
			read, err := parseMetadata([]byte(test.raw))
			require.NoError(t, err)
			require.Equal(t, test.want, read)
		})
	}
}

// Data that is not base64 is not a ciphertext, so the event is poison in both parsers.
func TestAnAddressThatIsNoBase64IsRefused(t *testing.T) {
	for _, from := range []string{`"AQ"`, `"A Q="`, `"AQ==="`, `"_w=="`, `7`} {
		raw := `{"actor":{"kind":"system"},"v":3,"time":"2026-01-02T12:00:00Z","from":` + from + `}`
		_, ok := parseCanonical([]byte(raw))
		require.False(t, ok, raw)
		_, err := parseMetadata([]byte(raw))
		require.Error(t, err, raw)
	}
}

// If the fast path accepts metadata, encoding/json parses the same.
func FuzzCanonicalMetadata(f *testing.F) {
	raw, err := json.Marshal(writtenMetadata)
	require.NoError(f, err)
	f.Add(string(raw))
	f.Add(`{"actor":{"kind":"system"},"v":1,"time":"2026-01-02T12:00:00+01:00"}`)
	f.Add(`{"$correlationId":"","actor":{"kind":"system"},"v":1,"time":"2026-01-02T12:00:00Z"}`)
	f.Add(`{"$correlationId":"req_1","actor":{"kind":"operator","name":"alice"},"v":1,"time":"2026-01-02T12:00:00Z"}`)
	f.Add(`{"actor":{"kind":"system"},"v":01,"time":"2026-01-02T12:00:00Z"}`)
	f.Add(`{"commandId":"0190B0C0-0000-7000-8000-000000000003","actor":{"kind":""},"v":999999999,"time":"2026-01-02T12:00:00.000Z"}`)
	f.Add(`{"actor":{"kind":"system"},"v":1,"time":"2026-01-02T12:00:00,5Z"}`)
	f.Add(`{"actor":{"kind":"account","account":"a1"},"v":1,"time":"2026-01-02T12:00:00Z","from":"AQIDBA=="}`)
	f.Add(`{"actor":{"kind":"system"},"v":1,"time":"2026-01-02T12:00:00Z","from":"AR=="}`)
	f.Add(`{"actor":{"kind":"system"},"v":1,"time":"2026-01-02T12:00:00Z","from":""}`)
	f.Fuzz(func(t *testing.T, metadata string) {
		read, ok := parseCanonical([]byte(metadata))
		if !ok {
			return
		}
		want, err := parseAnyMetadata([]byte(metadata))
		require.NoError(t, err)
		require.Equal(t, want, read)
	})
}
