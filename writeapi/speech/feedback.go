package speech

import (
	"github.com/recital-tts/recital/domain/feedback"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

type feedbackRequest struct {
	ID      string  `body:"id" required:"true" minlen:"1" maxlen:"200"`
	Rating  string  `body:"rating" required:"true" literal:"thumbsUp,thumbsDown"`
	Text    *string `body:"text" maxlen:"5000"`
	Context *string `body:"context" maxlen:"5000"`
}

type feedbackResponse struct {
	Success bool `json:"success"`
}

// feedback keeps what the client thinks of a synthesis. No read model shows it yet, so nothing is waited for.
func (a *API) feedback(call *web.Call, in feedbackRequest) (web.Reply, error) {
	said := feedback.Content{About: in.ID, Text: orEmpty(in.Text), Context: orEmpty(in.Context)}
	position, err := a.Feedback.Give(call, call.Principal.Account, feedback.Rating(in.Rating), said, writeapi.ActorOf(call.Principal))
	if err != nil {
		return web.Reply{}, err
	}
	call.SetPosition(position.String())
	return web.JSON(feedbackResponse{Success: true}), nil
}
