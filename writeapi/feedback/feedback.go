// Package feedback serves the route that receives feedback.
package feedback

import (
	"github.com/recital-tts/recital/commands/feedback"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// maxBody leaves room for the longest texts in any encoding, so that one that is somewhat too long gets a 422.
const maxBody = 256 << 10

// API receives feedback.
type API struct {
	Feedback *feedback.Feedback
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Post("/v1/ai/speech/feedback", a.give, web.FormBody(), web.MaxBody(maxBody), web.Tag("Speech"),
			web.Summary("Give feedback on a synthesis"),
			web.Description("The feedback is stored with the account. It does not change the voice. A synthesis can have 20 "+
				"pieces of feedback."),
			web.Returns[feedbackResponse](web.Sends("x-recital-position")), web.Refuses(404, 409)),
	}
}

type request struct {
	ID      string  `body:"id" doc:"The x-generation-id of the synthesis." required:"true" example:"req_NCwcMfUDpDJoBg7QaMnYRk"`
	Rating  string  `body:"rating" required:"true" literal:"thumbsUp,thumbsDown" doc:"Whether the result was good." example:"thumbsUp"`
	Text    *string `body:"text" maxlen:"5000" doc:"The feedback in words." example:"A clear voice."`
	Context *string `body:"context" maxlen:"5000" doc:"Where the result was used."`
}

type feedbackResponse struct {
	Success bool `json:"success" doc:"Always true."`
}

// give records feedback. No read model shows it, so it does not wait for one.
func (a *API) give(call *web.Call, in request) (web.Reply, error) {
	opinion := feedback.Opinion{
		About: in.ID, Rating: in.Rating, Text: writeapi.ValueOr(in.Text, ""), Context: writeapi.ValueOr(in.Context, ""),
	}
	position, err := a.Feedback.Give(call, call.Principal.Account, opinion, writeapi.Origin(call.Caller))
	return writeapi.Recorded(call, feedbackResponse{Success: true}, position, err)
}
