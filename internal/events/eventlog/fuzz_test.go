package eventlog_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

func FuzzDecode(f *testing.F) {
	f.Add("lamp-lit", `{"brightness":"dim","at":"2024-05-06T07:08:09Z"}`, `{"v":1}`)
	f.Add("lamp-lit", `{"brightness":1}`, `{"v":2}`)
	f.Add("lamp-sold", `null`, `{"v":1}`)
	f.Add("lamp-sold", `{"price":1e400}`, `{"v":1}`)
	f.Add("lamp-gone", ``, ``)
	registry := lamps(f)
	f.Fuzz(func(t *testing.T, name, data, metadata string) {
		decoded, err := registry.Decode(eventlog.Recorded{Type: name, Data: []byte(data), Metadata: []byte(metadata)})
		if err != nil {
			var poison *eventlog.DecodeError
			require.True(t, errors.Is(err, eventlog.ErrUnknownType) || errors.Is(err, eventlog.ErrNewerVersion) ||
				errors.As(err, &poison))
			require.Zero(t, decoded)
			return
		}
		switch decoded.Event.(type) {
		case lampLit, lampSold:
		default:
			t.Fatalf("decoded to %T", decoded.Event)
		}
		require.True(t, json.Valid([]byte(data)))
	})
}

// Metadata is unchanged when it is written again by this binary.
func FuzzMetadata(f *testing.F) {
	f.Add(`{"v":1,"actor":{"kind":"system"},"time":"2026-01-02T12:00:00Z","commandId":"0190b0c0-0000-7000-8000-000000000001"}`)
	f.Add(`{"v":1,"actor":{"kind":"account","account":"a","key":"k"},"time":"2026-01-02T12:00:00+01:00","$causationId":"0190b0c0-0000-7000-8000-000000000001"}`)
	f.Add(`{"v":1,"$correlationId":null,"time":"0001-01-01T00:00:00Z"}`)
	f.Add(`{"v":1,"actor":{"kind":"account","account":"a"},"time":"2026-01-02T12:00:00Z","commandId":"0190b0c0-0000-7000-8000-000000000001","from":"AQI="}`)
	f.Add(`{"v":1,"actor":{"kind":"system"},"time":"2026-01-02T12:00:00Z","commandId":"0190b0c0-0000-7000-8000-000000000001","from":""}`)
	registry := lamps(f)
	f.Fuzz(func(t *testing.T, metadata string) {
		decoded, err := registry.Decode(eventlog.Recorded{Type: "lamp-sold", Data: []byte(`{}`), Metadata: []byte(metadata)})
		if err != nil {
			return
		}
		proposed, err := registry.Encode(decoded.Meta.CommandID, 0, decoded.Meta, decoded.Event)
		if err != nil {
			return // not written any more: no command, time or actor
		}
		again, err := registry.Decode(recordedFrom(proposed[0]))
		require.NoError(t, err)
		require.Equal(t, decoded.Meta, again.Meta)
	})
}

func FuzzParsePosition(f *testing.F) {
	for _, seed := range []string{"0/0", "12/7", "18446744073709551615/1", "/", "1", "-1/2", "+1/2", "01/2", "1/2/3",
		" 1/2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		position, err := eventlog.ParsePosition(text)
		if err != nil {
			return
		}
		again, err := eventlog.ParsePosition(position.String())
		require.NoError(t, err)
		require.Equal(t, position, again)
		require.Zero(t, position.Compare(again))
	})
}
