// Package signin serves the profile of the signed-in person.
package signin

import (
	"context"
	"fmt"

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
	Providers []Provider // by their names
}

// Provider is an identity provider by which people can sign in.
type Provider struct {
	Provider string `json:"provider" literal:"idp_1,idp_2,idp_3,idp_4" doc:"The provider, for /auth/oauth/login."`
	Issuer   string `json:"issuer" format:"uri" doc:"The provider's issuer identifier (OpenID Connect)."`
}

// Routes returns the rows for the public route table.
func (a *API) Routes() []web.Route {
	return []web.Route{
		web.Get("/auth/oauth/validate", a.validate, web.Reads(readmodel.ProfilesView.View), web.Tag("Sign-in"),
			web.Summary("The signed-in person"),
			web.Description("The account of the session, as the identity provider described its owner at the last sign-in."),
			web.Returns[OAuthValidateResponse](web.Sends("cache-control")), web.Refuses(404)),
		web.Get("/auth/oauth/providers", a.providers, web.Public(), web.Tag("Sign-in"),
			web.Summary("The identity providers for signing in"),
			web.Description("The configured providers."), web.Returns[[]Provider]()),
	}
}

func (a *API) providers(*web.Call, struct{}) (web.Reply, error) {
	return web.JSON(append([]Provider{}, a.Providers...)), nil
}

// OAuthValidateResponse is the record of that name in the interface.
type OAuthValidateResponse struct {
	ID      string  `json:"id" doc:"The id of the account."`
	Name    string  `json:"name" doc:"The name of the person, as the identity provider has it."`
	Email   string  `json:"email" doc:"The e-mail address of the person."`
	Picture *string `json:"profile_picture" format:"uri" minlen:"1" maxlen:"2083" doc:"The address of a picture of the person."`
}

var ofAccount = readapi.From(readmodel.ProfilesView, `where account_id = $1`, "reading a profile")

var errNoProfile = domain.Refuse(domain.NotFound, "The account has no profile")

func (a *API) validate(call *web.Call, _ struct{}) (web.Reply, error) {
	row, err := ofAccount.One(call, a.Models, errNoProfile, call.Principal.Account)
	if err != nil {
		return web.Reply{}, err
	}
	shown, err := a.show(call, row)
	if err != nil {
		return web.Reply{}, err
	}
	return web.JSON(shown).WithHeader("Cache-Control", "no-store"), nil
}

// show decrypts a profile. It returns errNoProfile if the account's key is gone: the account has just been closed, or
// its keyring was abandoned.
func (a *API) show(ctx context.Context, row readmodel.ProfileRow) (shown OAuthValidateResponse, err error) {
	shown.ID = row.Account
	if shown.Name, err = a.open(ctx, row, row.Name, readmodel.NameUse); err != nil {
		return OAuthValidateResponse{}, err
	}
	if shown.Email, err = a.open(ctx, row, row.Email, readmodel.EmailUse); err != nil {
		return OAuthValidateResponse{}, err
	}
	picture, err := a.open(ctx, row, row.Picture, readmodel.PictureUse)
	if picture != "" {
		shown.Picture = &picture
	}
	return shown, err
}

// open decrypts a field of a profile, "" if the provider left it out.
func (a *API) open(ctx context.Context, row readmodel.ProfileRow, sealed []byte, use string) (string, error) {
	if len(sealed) == 0 {
		return "", nil
	}
	plain, err := a.Keys.Open(ctx, row.Account, sealed, use)
	switch {
	case keyring.Gone(err):
		return "", errNoProfile
	case err != nil:
		return "", fmt.Errorf("reading a profile: %w", err)
	}
	return string(plain), nil
}
