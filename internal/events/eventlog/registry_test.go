package eventlog_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/internal/events/eventlog"
)

// lampLit is at version 3: version 1 had the brightness as text, version 2 had no room.
type lampLit struct {
	Brightness int       `json:"brightness"`
	Room       string    `json:"room"`
	At         time.Time `json:"at"`
}

type lampSold struct {
	Price float64 `json:"price"`
}

type hidden struct{ secret int }

func brightnessAsNumber(data json.RawMessage) (json.RawMessage, error) {
	var old struct {
		Brightness string    `json:"brightness"`
		At         time.Time `json:"at"`
	}
	if err := json.Unmarshal(data, &old); err != nil {
		return nil, err
	}
	levels := map[string]int{"dim": 1, "bright": 9}
	level, known := levels[old.Brightness]
	if !known {
		return nil, errors.New("no such brightness: " + old.Brightness)
	}
	return json.Marshal(map[string]any{"brightness": level, "at": old.At})
}

func inTheHall(data json.RawMessage) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	fields["room"] = json.RawMessage(`"hall"`)
	return json.Marshal(fields)
}

func lamps(t require.TestingT) *eventlog.Registry {
	registry, err := eventlog.NewRegistry(eventlog.In("lamp-",
		eventlog.Define[lampLit]("lamp-lit", 3, brightnessAsNumber, inTheHall),
		eventlog.Define[lampSold]("lamp-sold", 1),
	)...)
	require.NoError(t, err)
	return registry
}

var (
	command = uuid.MustParse("0190b0c0-0000-7000-8000-000000000001")
	noon    = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)
	byUs    = eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorSystem}, Time: noon}
)

func TestRegistryRefusesTypesThatCannotBeRead(t *testing.T) {
	identity := func(data json.RawMessage) (json.RawMessage, error) { return data, nil }
	tests := map[string]struct {
		types []eventlog.Type
		want  string
	}{
		"two of a name": {[]eventlog.Type{eventlog.Define[lampLit]("lamp-lit", 1),
			eventlog.Define[lampSold]("lamp-lit", 1)}, "listed twice"},
		"two of a Go type": {[]eventlog.Type{eventlog.Define[lampLit]("lamp-lit", 1),
			eventlog.Define[lampLit]("lamp-on", 1)}, "share the Go type"},
		"too few upcasts": {[]eventlog.Type{eventlog.Define[lampLit]("lamp-lit", 3, identity)},
			"needs 2 upcasts, not 1"},
		"too many upcasts": {[]eventlog.Type{eventlog.Define[lampLit]("lamp-lit", 1, identity)},
			"needs 0 upcasts, not 1"},
		"an upcast left empty": {[]eventlog.Type{eventlog.Define[lampLit]("lamp-lit", 2, nil)}, "missing"},
		"version 0":            {[]eventlog.Type{eventlog.Define[lampLit]("lamp-lit", 0)}, "start at 1"},
		"no name":              {[]eventlog.Type{eventlog.Define[lampLit]("", 1)}, "name"},
		"a name of the server": {[]eventlog.Type{eventlog.Define[lampLit]("$lamp-lit", 1)}, "name"},
		"a name in camel case": {[]eventlog.Type{eventlog.Define[lampLit]("LampLit", 1)}, "name"},
		"a pointer":            {[]eventlog.Type{eventlog.Define[*lampLit]("lamp-lit", 1)}, "not a struct"},
		"an unexported field":  {[]eventlog.Type{eventlog.Define[hidden]("lamp-hidden", 1)}, "secret is unexported"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := eventlog.NewRegistry(eventlog.In("lamp-", test.types...)...)
			require.ErrorContains(t, err, test.want)
		})
	}
	_ = hidden{}.secret
}

func TestRegistryRefusesTypesWithoutStreams(t *testing.T) {
	for _, streams := range []string{"", "-", "l", "l-", "$lamp-", "lamp--", "Lamp-", "lamp-*"} {
		_, err := eventlog.NewRegistry(eventlog.In(streams, eventlog.Define[lampLit]("lamp-lit", 1))...)
		require.ErrorContains(t, err, "stream", streams)
	}
}

func TestOursAreTheStreamsThatTheTypesAreIn(t *testing.T) {
	registry, err := eventlog.NewRegistry(append(
		eventlog.In("lamp-", eventlog.Define[lampLit]("lamp-lit", 1)),
		eventlog.In("sales", eventlog.Define[lampSold]("lamp-sold", 1))...)...)
	require.NoError(t, err)
	for stream, ours := range map[string]bool{
		"lamp-1": true, "lamp-": true, "sales": true,
		"lamp": false, "lamps-1": false, "a-lamp-1": false, "sales-1": false, "sale": false, "": false, "Lamp-1": false,
	} {
		require.Equal(t, ours, registry.Ours(stream), stream)
	}
}

func TestEncodeRefusesIncompleteMetadata(t *testing.T) {
	tests := map[string]struct {
		command uuid.UUID
		first   int
		meta    eventlog.Metadata
		event   any
	}{
		"no command":     {uuid.Nil, 0, byUs, lampSold{}},
		"negative index": {command, -1, byUs, lampSold{}},
		"no time":        {command, 0, eventlog.Metadata{Actor: byUs.Actor}, lampSold{}},
		"no actor":       {command, 0, eventlog.Metadata{Time: noon}, lampSold{}},
		"unknown actor":  {command, 0, eventlog.Metadata{Time: noon, Actor: eventlog.Actor{Kind: "ghost"}}, lampSold{}},
		"another command": {command, 0, eventlog.Metadata{Time: noon, Actor: byUs.Actor, CommandID: uuid.New()},
			lampSold{}},
		"unregistered event": {command, 0, byUs, hidden{}},
		"a pointer":          {command, 0, byUs, &lampSold{}},
		"nil":                {command, 0, byUs, nil},
		"not a number":       {command, 0, byUs, lampSold{Price: math.NaN()}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			proposed, err := lamps(t).Encode(test.command, test.first, test.meta, test.event)
			require.Error(t, err)
			require.Nil(t, proposed)
		})
	}
}

func TestEncodingACommandAgainGivesTheSameEvents(t *testing.T) {
	registry := lamps(t)
	first, err := registry.Encode(command, 0, byUs, lampSold{1}, lampSold{2})
	require.NoError(t, err)
	again, err := registry.Encode(command, 0, byUs, lampSold{1}, lampSold{2})
	require.NoError(t, err)
	later, err := registry.Encode(command, 2, byUs, lampSold{3})
	require.NoError(t, err)

	require.Equal(t, first, again)
	require.Equal(t, eventlog.EventID(command, 0), first[0].ID)
	require.Equal(t, eventlog.EventID(command, 1), first[1].ID)
	require.Equal(t, eventlog.EventID(command, 2), later[0].ID)
}

func TestMetadataHasTheStandardKeys(t *testing.T) {
	cause := uuid.MustParse("0190b0c0-0000-7000-8000-000000000002")
	meta := eventlog.Metadata{
		CorrelationID: command.String(),
		CausationID:   cause,
		Actor:         eventlog.Actor{Kind: eventlog.ActorAccount, Account: "a1", Key: "rk_abcd...wxyz", Session: "s1"},
		Time:          noon.In(time.FixedZone("", 3600)),
	}
	proposed, err := lamps(t).Encode(command, 0, meta, lampLit{})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"$correlationId": "0190b0c0-0000-7000-8000-000000000001",
		"$causationId": "0190b0c0-0000-7000-8000-000000000002",
		"commandId": "0190b0c0-0000-7000-8000-000000000001",
		"actor": {"kind": "account", "account": "a1", "key": "rk_abcd...wxyz", "session": "s1"},
		"v": 3,
		"time": "2026-01-02T12:00:00.000000005Z"
	}`, string(proposed[0].Metadata))

	proposed, err = lamps(t).Encode(command, 0, byUs, lampSold{})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"commandId": "0190b0c0-0000-7000-8000-000000000001",
		"actor": {"kind": "system"}, "v": 1, "time": "2026-01-02T12:00:00.000000005Z"
	}`, string(proposed[0].Metadata), "unknown ids are omitted")
}

func TestDecodeGivesBackWhatWasEncoded(t *testing.T) {
	registry := lamps(t)
	text := rapid.StringMatching(`[a-zA-Z0-9 äß☂]{0,12}`)
	id := rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
	}).Filter(func(id uuid.UUID) bool { return id != uuid.Nil })
	moment := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
	rapid.Check(t, func(t *rapid.T) {
		command := id.Draw(t, "command")
		event := lampLit{Brightness: rapid.Int().Draw(t, "brightness"), Room: text.Draw(t, "room"), At: moment.Draw(t, "at")}
		meta := eventlog.Metadata{
			CorrelationID: id.Draw(t, "correlation").String(),
			CausationID:   id.Draw(t, "causation"),
			Actor: eventlog.Actor{Kind: eventlog.ActorAccount, Account: text.Draw(t, "account"),
				Key: text.Draw(t, "key")},
			Time: moment.Draw(t, "time"),
		}
		proposed, err := registry.Encode(command, 0, meta, event)
		require.NoError(t, err)

		decoded, err := registry.Decode(recordedFrom(proposed[0]))
		require.NoError(t, err)
		require.Equal(t, event, decoded.Event)
		meta.CommandID, meta.Version = command, 3
		require.Equal(t, meta, decoded.Meta)
		require.Equal(t, command, decoded.Meta.CommandID)
	})
}

func TestDecodeReadsEveryVersion(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	tests := map[string]struct {
		version int
		data    string
		want    lampLit
	}{
		"1": {1, `{"brightness":"bright","at":"2024-05-06T07:08:09Z"}`,
			lampLit{9, "hall", at}},
		"2": {2, `{"brightness":4,"at":"2024-05-06T07:08:09Z"}`, lampLit{4, "hall", at}},
		"3": {3, `{"brightness":4,"room":"attic","at":"2024-05-06T07:08:09Z"}`,
			lampLit{4, "attic", at}},
		"3 with a field of a later release": {3, `{"brightness":4,"room":"attic","at":"2024-05-06T07:08:09Z","colour":"red"}`,
			lampLit{4, "attic", at}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			decoded, err := lamps(t).Decode(recordedAs("lamp-lit", test.version, test.data))
			require.NoError(t, err)
			require.Equal(t, test.want, decoded.Event)
			require.Equal(t, test.version, decoded.Meta.Version, "the metadata holds the written version")
		})
	}
}

func TestDecodeTellsUnknownAndNewerFromPoison(t *testing.T) {
	registry := lamps(t)

	_, err := registry.Decode(recordedAs("lamp-broken", 1, `{}`))
	require.ErrorIs(t, err, eventlog.ErrUnknownType)

	_, err = registry.Decode(recordedAs("lamp-lit", 4, `{"whatever": [1]}`))
	require.ErrorIs(t, err, eventlog.ErrNewerVersion)

	const secret = "jane@example.org"
	poison := map[string]eventlog.Recorded{
		"null":                   recordedAs("lamp-sold", 1, `null`),
		"an array":               recordedAs("lamp-sold", 1, `[]`),
		"nothing":                recordedAs("lamp-sold", 1, ``),
		"cut short":              recordedAs("lamp-sold", 1, `{"price": 1`),
		"two values":             recordedAs("lamp-sold", 1, `{"price": 1} {"price": 2}`),
		"a field of other type":  recordedAs("lamp-sold", 1, `{"price": "`+secret+`"}`),
		"an invalid time":        recordedAs("lamp-lit", 3, `{"at": "`+secret+`"}`),
		"an upcast that fails":   recordedAs("lamp-lit", 1, `{"brightness": "`+secret+`"}`),
		"an upcast of no object": recordedAs("lamp-lit", 2, `null`),
		"no metadata":            {Type: "lamp-sold", Data: []byte(`{}`)},
		"metadata null":          {Type: "lamp-sold", Data: []byte(`{}`), Metadata: []byte(`null`)},
		"metadata of no version": {Type: "lamp-sold", Data: []byte(`{}`), Metadata: []byte(`{}`)},
		"metadata of bad ids": {Type: "lamp-sold", Data: []byte(`{}`),
			Metadata: []byte(`{"v":1,"commandId":"` + secret + `"}`)},
	}
	for name, event := range poison {
		t.Run(name, func(t *testing.T) {
			decoded, err := registry.Decode(event)
			var poisoned *eventlog.DecodeError
			require.ErrorAs(t, err, &poisoned)
			require.Zero(t, decoded, "never half an event")
			require.NotContains(t, err.Error(), secret, "an error never quotes the event")
		})
	}
}

func recordedFrom(p eventlog.Proposed) eventlog.Recorded {
	return eventlog.Recorded{ID: p.ID, Type: p.Type, Data: p.Data, Metadata: p.Metadata}
}

func recordedAs(name string, version int, data string) eventlog.Recorded {
	meta, _ := json.Marshal(map[string]any{"v": version, "time": noon, "actor": map[string]string{"kind": "system"}})
	return eventlog.Recorded{Type: name, Data: []byte(data), Metadata: meta}
}
