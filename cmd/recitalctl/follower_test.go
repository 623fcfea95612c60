package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/cmd/recitalctl/progress"
	"github.com/recital-tts/recital/internal/http/adminapi"
)

func TestABuildForPeopleAndPrograms(t *testing.T) {
	f := follower{paces: map[adminapi.GenerationID]*progress.Pace{}}
	id := adminapi.GenerationID{Name: "account", Version: 1, Generation: 2}

	item := f.item(adminapi.GenerationReply{
		GenerationID: id, State: building, Position: "5/5", Progress: 0.5, Events: 1234,
	})
	require.Equal(t, "account v1 g2", item.Title)
	require.Equal(t, "building  50 %  1,234 events", item.Details)
	text, err := json.Marshal(item.Object)
	require.NoError(t, err)
	require.Regexp(t, `^{"at":\d+.*,"name":"account","version":1,"generation":2,"state":"building","live":false,"done":false,`+
		`"position":"5/5","progress":0.5,"events":1234,"events_per_second":0,"seconds_left":null}$`, string(text))

	item = f.item(adminapi.GenerationReply{
		GenerationID: id, State: stopped, Reason: "it fails\n", Progress: 0.5, Events: 1234,
	})
	require.True(t, item.Failed)
	require.Equal(t, "stopped   50 %  1,234 events", item.Details)
	require.Equal(t, `it fails\u000a`, item.Object.(buildObject).Reason)

	item = f.item(adminapi.GenerationReply{GenerationID: id, State: current, Live: true, Progress: 0.999, Events: 2000})
	require.True(t, item.Done)
	require.Equal(t, "current  100 %  2,000 events  live", item.Details)
	require.Zero(t, *item.Object.(buildObject).Left)

	rest := 65.0
	b := buildObject{State: building, Events: 1234, Rate: 99.9, Left: &rest}
	require.Equal(t, "building   0 %  1,234 events  99/s  1m05s left", b.details())
}
