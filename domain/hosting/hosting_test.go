package hosting_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/hosting"
	"github.com/recital-tts/recital/domain/spec"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func connected(config string) hosting.Connected {
	return hosting.Connected{Account: "a1", Config: config, Token: []byte{1}, At: noon}
}

func begun(hash string, at time.Time) hosting.VariableBegun {
	return hosting.VariableBegun{Account: "a1", Config: "c1", Project: "p1", SealedName: []byte("site"), Hash: hash,
		Masked: "rk_****", At: at}
}

func TestConnecting(t *testing.T) {
	var many []hosting.Event
	for i := range hosting.MaxConnections {
		many = append(many, connected(fmt.Sprint("c", i)))
	}
	spec.Run(t, hosting.Evolve, []spec.Case[hosting.State, hosting.Event]{
		{Name: "an account", When: hosting.Connect(connected("c1")), Then: []hosting.Event{connected("c1")}},
		{Name: "again", Given: []hosting.Event{connected("c1")}, When: hosting.Connect(connected("c1")),
			Then: []hosting.Event{connected("c1")}},
		{Name: "one of many again", Given: many, When: hosting.Connect(connected("c1")),
			Then: []hosting.Event{connected("c1")}},
		{Name: "too often", Given: many, When: hosting.Connect(connected("other")), Refused: domain.Denied},
		{Name: "when all has ended", Given: []hosting.Event{connected("c1"), hosting.Ended{Account: "a1"}},
			When: hosting.Connect(connected("c1")), Refused: domain.Rejected},
	})
}

func TestAVariable(t *testing.T) {
	late := noon.Add(hosting.Patience)
	set := hosting.VariableSet{Account: "a1", Hash: "h1", Variable: "env_1", At: noon}
	removing := hosting.VariableRemovalBegun{Account: "a1", Hash: "h1", At: noon}
	removed := hosting.VariableRemoved{Account: "a1", Hash: "h1", At: late}
	begin := func(instead string, at time.Time) hosting.Begin {
		return hosting.Begin{VariableBegun: begun("h2", at), Instead: instead}
	}
	underway, settled := []hosting.Event{connected("c1"), begun("h1", noon)},
		[]hosting.Event{connected("c1"), begun("h1", noon), set}
	leaving := append(settled[:3:3], removing)
	spec.Run(t, hosting.Evolve, []spec.Case[hosting.State, hosting.Event]{
		{Name: "is begun", Given: underway[:1], When: begin("", noon), Then: []hosting.Event{begun("h2", noon)}},
		{Name: "needs a connection", When: begin("", noon), Refused: domain.NotFound},
		{Name: "is not begun beside another", Given: settled, When: begin("", late), Refused: domain.Conflict},
		{Name: "is not taken over while somebody may be at work", Given: underway, When: begin("h1", late.Add(-1)),
			Refused: domain.Conflict},
		{Name: "is taken over after that", Given: underway, When: begin("h1", late),
			Then: []hosting.Event{removed, begun("h2", late)}},
		{Name: "is replaced", Given: settled, When: begin("h1", late), Then: []hosting.Event{removed, begun("h2", late)}},
		{Name: "is not begun when all has ended", Given: []hosting.Event{connected("c1"), hosting.Ended{Account: "a1"}},
			When: begin("", noon), Refused: domain.Rejected},

		{Name: "is set", Given: underway, When: hosting.Set{Hash: "h1", Variable: "env_1", At: noon},
			Then: []hosting.Event{set}},
		{Name: "is set once", Given: settled, When: hosting.Set{Hash: "h1", Variable: "env_1", At: late}},
		{Name: "is not set once it was taken over", Given: underway, When: hosting.Set{Hash: "h0", Variable: "env_1"},
			Refused: domain.Conflict},
		{Name: "is not set while it is removed", Given: leaving, When: hosting.Set{Hash: "h1", Variable: "env_1"},
			Refused: domain.Conflict},

		{Name: "is about to be removed", Given: settled, When: hosting.BeginRemoval{Hash: "h1", At: noon},
			Then: []hosting.Event{removing}},
		{Name: "is about to be removed already", Given: leaving, When: hosting.BeginRemoval{Hash: "h1", At: noon}},
		{Name: "is not removed while it is set", Given: underway, When: hosting.BeginRemoval{Hash: "h1", At: noon},
			Refused: domain.Conflict},
		{Name: "is removed", Given: leaving, When: hosting.Remove{Hash: "h1", At: late}, Then: []hosting.Event{removed}},
		{Name: "is removed once", Given: append(leaving[:4:4], removed), When: hosting.Remove{Hash: "h1", At: late}},
	})
}

func TestTheEnd(t *testing.T) {
	spec.Run(t, hosting.Evolve, []spec.Case[hosting.State, hosting.Event]{
		{Name: "of nothing", When: hosting.End{At: noon}},
		{Name: "of a connection", Given: []hosting.Event{connected("c1")}, When: hosting.End{At: noon},
			Then: []hosting.Event{hosting.Ended{Account: "a1", At: noon}}},
		{Name: "once", Given: []hosting.Event{connected("c1"), hosting.Ended{Account: "a1"}}, When: hosting.End{At: noon}},
		{Name: "not before the variables'", Given: []hosting.Event{connected("c1"), begun("h1", noon)},
			When: hosting.End{At: noon}, Refused: domain.Conflict},
	})
}
