package operations

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/bind"
)

// maxPromoted is the maximum number of generations that are promoted in one transaction.
const maxPromoted = 100

// promoteRequest holds {"generations": [{"name", "version", "generation"}, …]}. The binder does not support lists of
// objects, so each entry is bound separately.
type promoteRequest struct {
	Body []byte `raw:"body" required:"true"`
}

// Subject names the generations.
func (r promoteRequest) Subject() string {
	var body struct{ Generations []generationRequest }
	if json.Unmarshal(r.Body, &body) != nil {
		return "" // refused by the handler
	}
	var names []string
	for _, g := range body.Generations {
		names = append(names, g.Subject())
	}
	return strings.Join(names, ", ")
}

func (p *Projections) promote(call *web.Call, in promoteRequest) (web.Reply, error) {
	ids, err := in.ids(call)
	if err != nil {
		return web.Reply{}, err
	}
	live, err := p.Generations.Promote(call, ids)
	if err != nil {
		return web.Reply{}, feed.Answered(err)
	}
	return web.JSON(generationsOf(live)), nil
}

func (r promoteRequest) ids(call *web.Call) ([]feed.GenerationID, error) {
	entries, err := r.entries(call)
	if err != nil {
		return nil, err
	}
	plan, err := bind.Compile(reflect.TypeFor[generationRequest]())
	if err != nil {
		return nil, err
	}
	var ids []feed.GenerationID
	var wrong []web.Item
	for i, entry := range entries {
		var one generationRequest
		items, err := plan.Bind(reflect.ValueOf(&one).Elem(), &bind.Request{Body: entry})
		if err != nil {
			return nil, err
		}
		for _, item := range items { // ("body", "name") is ("body", "generations", 0, "name")
			item.Loc = append([]any{"body", "generations", i}, item.Loc[1:]...)
			wrong = append(wrong, item)
		}
		ids = append(ids, one.id())
	}
	if len(wrong) > 0 {
		return nil, web.Invalid(wrong...)
	}
	return ids, nil
}

func (r promoteRequest) entries(call *web.Call) ([]json.RawMessage, error) {
	var body struct {
		Generations []json.RawMessage `json:"generations"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil, wrongGenerations(call, "the body is not an object with a list of generations")
	}
	if n := len(body.Generations); n == 0 || n > maxPromoted {
		return nil, wrongGenerations(call, "1 to 100 generations are needed")
	}
	return body.Generations, nil
}

func wrongGenerations(call *web.Call, why string) error {
	wrong := call.Wrong("", why)
	wrong.Loc = append(wrong.Loc, "generations")
	return web.Invalid(wrong)
}
