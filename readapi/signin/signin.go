// Package signin serves who is signed in.
package signin

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/readapi"
)

// API serves the profiles of accounts' owners from their read model.
type API struct {
	Models    readapi.Models
	Keys      keyring.Opener
	SealedFor Uses
}

// Uses are what the fields of a profile are sealed for.
type Uses struct{ Name, Email, Picture string }

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/auth/oauth/validate", a.validate, web.Reads(readmodel.ProfilesView), web.Tag("Sign-in"), web.Summary("Who is signed in"),
			web.Description("The account of the session, as the identity provider described its owner at the last sign-in."),
			web.Returns[OAuthValidateResponse](web.Sends("cache-control")), web.Refuses(404)),
	}
}

// OAuthValidateResponse is the record of that name in the interface.
type OAuthValidateResponse struct {
	ID      string  `json:"id" doc:"The id of the account."`
	Name    string  `json:"name" doc:"The name of the person, as the identity provider has it."`
	Email   string  `json:"email" doc:"The e-mail address of the person."`
	Picture *string `json:"profile_picture" format:"uri" minlen:"1" maxlen:"2083" doc:"The address of a picture of the person."`
}

var profileQuery = `select ` + readmodel.Columns[profileRow](readmodel.ProfilesView, "") + ` from ` + readmodel.ProfilesView.SQL() + ` where account_id = $1`

type profileRow struct {
	Name    []byte `col:"name"`
	Email   []byte `col:"email"`
	Picture []byte `col:"picture"`
}

var errNoProfile = domain.Refuse(domain.NotFound, "Nobody has signed in to this account")

func (a *API) validate(call *web.Call, _ struct{}) (web.Reply, error) {
	id := call.Principal.Account
	var (
		row   profileRow
		found bool
	)
	err := readapi.Read(call, a.Models, readapi.Query{SQL: profileQuery, Arguments: []any{id}, Doing: "reading a profile"}, func(r pgx.CollectableRow) (err error) {
		found = true
		row, err = pgx.RowToStructByPos[profileRow](r)
		return err
	})
	if err != nil {
		return web.Reply{}, err
	}
	if !found {
		return web.Reply{}, errNoProfile
	}
	shown, err := a.show(call, id, row)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(shown).WithHeader("Cache-Control", "no-store"), nil
}

// show opens a profile. Without the key of the account there is none: the account was closed just now, or its keyring
// abandoned.
func (a *API) show(ctx context.Context, id string, row profileRow) (OAuthValidateResponse, error) {
	shown := OAuthValidateResponse{ID: id}
	var picture string
	for _, field := range []struct {
		sealed []byte
		use    string
		to     *string
	}{
		{row.Name, a.SealedFor.Name, &shown.Name}, {row.Email, a.SealedFor.Email, &shown.Email}, {row.Picture, a.SealedFor.Picture, &picture},
	} {
		if field.sealed == nil {
			continue
		}
		plain, err := a.Keys.Open(ctx, id, field.sealed, field.use)
		if keyring.Gone(err) {
			return OAuthValidateResponse{}, errNoProfile
		}
		if err != nil {
			return OAuthValidateResponse{}, fmt.Errorf("reading a profile: %w", err)
		}
		*field.to = string(plain)
	}
	if picture != "" {
		shown.Picture = &picture
	}
	return shown, nil
}
