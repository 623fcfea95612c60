package ledger_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/http/web/webtest"
	writeapi "github.com/recital-tts/recital/writeapi/ledger"
	"github.com/recital-tts/recital/writeapi/writetest"
)

func TestTheSpendingCapIsSet(t *testing.T) {
	// given an account on a plan with overage, and one on the free plan
	w := commandstest.New(t)
	keeper := w.Ledger()
	keeper.PriceBy(func(context.Context, string, plan.Type) (plan.Rate, error) {
		return plan.Rate{Unit: 1_000, Millis: 5_000, Currency: "usd"}, nil
	})
	id, free := w.Open("free"), w.Open("free")
	now := w.Clock.Now()
	_, err := w.Accounts.Entitle(t.Context(), id, plan.Entitlement{Plan: plan.Indie, Start: now,
		End: now.Add(24 * time.Hour), Next: plan.Indie}, 1, uuid.New())
	require.NoError(t, err)
	models := &writetest.Models{}
	api := writeapi.API{Ledger: keeper, ReadModels: models}
	url := webtest.Serve(t, web.Config{Routes: api.Routes(), Authenticator: webtest.Keys{}})
	put := func(account, body string) (*http.Response, string) {
		return webtest.Send(t, http.MethodPut, url+"/payments/spending-cap", body, "x-api-key", account, "Content-Type",
			"application/json")
	}

	// when the cap is set, twice, then the answer waits until the read model shows it
	for range 2 {
		response, body := put(id, `{"amount": 5000}`)
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		require.JSONEq(t, `{"amount": 5000, "currency": "usd"}`, body)
		require.Equal(t, []readmodel.Model{readmodel.Usage}, models.Names)
	}
	require.EqualValues(t, 1, w.Account(id).SpendingCap.Version)
	response, body := put(id, `{"amount": null}`)
	require.Equal(t, http.StatusOK, response.StatusCode, body)
	require.JSONEq(t, `{"amount": null, "currency": null}`, body)

	// and values out of bounds are refused, in the documented shape
	for body, refused := range map[string]string{`{}`: "missing", `{"amount": -1}`: "greater_than_equal",
		`{"amount": 1000000001}`: "less_than_equal", `{"amount": "much"}`: "int_parsing",
		`{"amount": 1.5}`: "int_from_float", `[]`: "model_attributes_type"} {
		response, got := put(id, body)
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, "%s: %s", body, got)
		require.Contains(t, got, `"type":"`+refused+`"`, body)
	}
	response, body = put(free, `{"amount": 1}`)
	require.Equal(t, http.StatusConflict, response.StatusCode, body)
	require.Contains(t, body, "nothing to cap")
	response, _ = put("", `{"amount": 1}`)
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
}
