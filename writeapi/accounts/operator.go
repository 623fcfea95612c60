package accounts

import (
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

type operatorRequest struct {
	AccountID string `path:"account_id" maxlen:"64"`
}

type operatorResponse struct {
	AccountID string `json:"account_id"`
	Operator  bool   `json:"operator"`
}

// closeOther closes an account on the word of an operator, also one that admits no credential.
func (a *API) closeOther(call *web.Call, in operatorRequest) (web.Reply, error) {
	return a.done(call)(a.Accounts.Close(call, in.AccountID, writeapi.Origin(call.Caller)))
}

func (a *API) grantOperator(call *web.Call, in operatorRequest) (web.Reply, error) {
	return a.setOperator(call, in, true)
}

func (a *API) withdrawOperator(call *web.Call, in operatorRequest) (web.Reply, error) {
	return a.setOperator(call, in, false)
}

func (a *API) setOperator(call *web.Call, in operatorRequest, operator bool) (web.Reply, error) {
	position, err := a.Accounts.SetOperator(call, in.AccountID, operator, writeapi.Origin(call.Caller))
	if err != nil {
		return web.Reply{}, err
	}
	writeapi.AwaitVisible(call, a.ReadModels, position)
	return web.JSON(operatorResponse{AccountID: in.AccountID, Operator: operator}), nil
}
