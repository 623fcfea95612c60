package speech

import (
	"errors"
	"strconv"
	"time"

	"github.com/recital-tts/recital/commands"
	port "github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/web"
)

// describe tells what is known of a reply before there is audio.
func (a *API) describe(call *web.Call, order commands.Synthesis, reply *commands.Reply) {
	call.SetHeader("x-generation-id", reply.ID())
	call.SetHeader("x-model-version", modelVersion(order.Model))
	call.SetHeader("x-seed", strconv.FormatInt(reply.Seed(), 10))
	if clip := reply.Clip(); clip != "" {
		call.SetHeader("x-clip-id", clip)
	}
	if id := reply.Timestamps(); id != "" {
		call.SetHeader("x-timestamps-url", a.TimestampsURL(call.Header("Host"), id))
	}
	if warning := reply.Warning(); warning != "" {
		call.SetHeader("x-warning", warning)
	}
	describeUsage(call, reply)
	if current, limit := reply.Concurrency(); limit > 0 {
		call.SetHeader("x-concurrency-current", strconv.Itoa(current))
		call.SetHeader("x-concurrency-limit", strconv.Itoa(limit))
	}
}

// modelVersion is the model that speaks, with its version: the request may name one without.
func modelVersion(model string) string {
	switch model {
	case "":
		return port.ModelAurora
	case port.ModelBlizzard:
		return port.ModelBlizzard21
	}
	return model
}

// describeUsage tells what the account has used in its period when all of the text is handed over, other replies under
// way included.
func describeUsage(call *web.Call, reply *commands.Reply) {
	set := func(name string, characters int64) { call.SetHeader(name, strconv.FormatInt(characters, 10)) }
	set("x-character-count", reply.Characters())
	allowance := reply.Allowance()
	set("x-characters-used", allowance.Settled+allowance.Reserved)
	if remaining, limited := allowance.Remaining(); limited {
		set("x-characters-limit", *allowance.Limit)
		set("x-characters-remaining", remaining)
	}
}

// busyPause is when a client that has too many syntheses at once should ask again: most last shorter.
const busyPause = time.Second

// explainBusy puts a limit of the plan into terms of HTTP. Other errors stay as they are.
func explainBusy(err error) error {
	var busy *commands.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	return web.TooManyRequests("The plan permits "+strconv.Itoa(busy.Limit)+" syntheses at once", busyPause)
}
