package accounts

import (
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/writeapi"
)

// Routes are the rows for the public route table.
func (a *API) Routes() []web.Route {
	shown, tag, success := web.ReadModels(readmodel.Account), web.Tag("Account"), web.Returns[writeapi.SuccessResponse]()
	return []web.Route{
		web.Delete("/v1/account", a.close, shown, tag, success, web.Summary("Close the account for good"),
			web.Description("Its API keys and sessions end at once, what they have opened included. Clips are deleted, and all personal data becomes unreadable.")),
		web.Get("/v1/account/new_api_key", a.newKey, shown, tag, web.Appends(), web.Summary("Create an API key, which is shown in this reply only"),
			web.Description("Store the key: later replies have its masked form only."),
			web.Returns[apiKeyResponse](web.Sends("cache-control")), web.Refuses(403)),
		web.Post("/v1/account/api_key/{masked}/name", a.renameKey, shown, tag, success, web.Summary("Rename an API key"),
			web.Description("Names are for people and need not be unique."), web.Refuses(404)),
		web.Delete("/v1/account/api_key/{masked}", a.revokeKey, shown, tag, success, web.Summary("Revoke an API key"),
			web.Description("The key admits no request from then on, and open streams that it began end. It cannot be undone."), web.Refuses(404)),
		web.Post("/v1/account/accept_tos", a.acceptTerms, shown, tag, success, web.Summary("Accept the terms of service"),
			web.Description("Records that the owner accepted the terms. A repetition changes nothing.")),
		web.Post("/v1/account/set_email_prefs", a.setEmailPreferences, shown, tag, success, web.FormBody(), web.Summary("Set whether the owner wants e-mail"),
			web.Description("The latest choice counts.")),
	}
}

// AdminRoutes are the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	operators, tag, shown := web.Role("operator"), web.Tag("Operators"), web.ReadModels(readmodel.Account)
	return []web.Route{
		web.Post("/admin/accounts", a.open, operators, shown, tag, web.Acts(web.Act{Own: true}), web.Summary("Open an account and give it an API key"),
			web.Returns[openResponse](web.Sends("cache-control"))),
		web.Delete("/admin/accounts/{account_id}", a.closeOther, operators, shown, tag, web.Acts(web.Act{Own: true, Reasoned: true}),
			web.Summary("Close an account for good"), web.Returns[writeapi.SuccessResponse](), web.Refuses(404)),
		web.Post("/admin/accounts/{account_id}/operator", a.grantOperator, operators, shown, tag, web.Acts(web.Act{Own: true, Reasoned: true}), web.Summary("Grant an account the role of an operator"),
			web.Returns[operatorResponse](), web.Refuses(404, 409)),
		web.Delete("/admin/accounts/{account_id}/operator", a.withdrawOperator, operators, shown, tag, web.Acts(web.Act{Own: true, Reasoned: true}), web.Summary("Withdraw the role of an operator from an account"),
			web.Returns[operatorResponse](), web.Refuses(404, 409)),
	}
}
