package account

import (
	"errors"
	"net/http"

	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/web"
	"github.com/recital-tts/recital/writeapi"
)

type creditRequest struct {
	AccountID  string `path:"account_id" maxlen:"64"`
	Characters int64  `body:"characters" required:"true" ge:"1" le:"1000000000" doc:"how many characters to grant"`
	Grant      string `body:"grant" minlen:"1" maxlen:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"an id of the caller's choice: a repetition with it grants nothing more"`
}

type creditResponse struct {
	AccountID        string `json:"account_id"`
	Grant            string `json:"grant"`
	Characters       int64  `json:"characters"`        // granted
	CreditCharacters int64  `json:"credit_characters"` // left of all credit
}

func (a *API) credit(call *web.Call, in creditRequest) (web.Reply, error) {
	granted, err := a.Ledger.GrantCredit(call, in.AccountID, in.Grant, in.Characters, eventlog.Actor{Kind: eventlog.ActorOperator})
	if err != nil {
		return web.Reply{}, forGood(err)
	}
	writeapi.AwaitVisible(call, a.ReadModels, granted.Position)
	return web.JSON(creditResponse{
		AccountID: in.AccountID, Grant: granted.Grant, Characters: granted.Characters, CreditCharacters: granted.Left,
	}), nil
}

// forGood marks the refusals that asking again does not change: other conflicts are told with an invitation to it.
func forGood(err error) error {
	for _, refusal := range []error{ledger.ErrOtherGrant, ledger.ErrTooManyGrants} {
		if errors.Is(err, refusal) {
			return &web.Error{Status: http.StatusConflict, Message: refusal.Error(), Retry: new(false)}
		}
	}
	return err
}
