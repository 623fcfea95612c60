package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// description is the part of /openapi.json that is compared here.
type description struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Parameters []struct {
		Name, In string
		Required bool
		Schema   schema
	}
	RequestBody struct {
		Required bool
		Content  map[string]struct{ Schema schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema schema }
	}
	Security []map[string][]string
}

type schema struct {
	Ref                                string `json:"$ref"`
	Type                               any
	Format                             string
	Enum                               []any
	Default                            any
	Minimum, Maximum, ExclusiveMinimum *float64
	MinLength, MaxLength               *int
	Items                              *schema
	Properties                         map[string]schema
	Required                           []string
	AnyOf                              []schema
}

func (s *server) description() description {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.address+"/openapi.json", nil)
	require.NoError(s.t, err)
	got := do(s.t, request)
	require.Equal(s.t, 200, got.status)
	var d description
	got.decode(s.t, &d)
	return d
}

func (d description) operations() (all []string) {
	for path, item := range d.Paths {
		for method := range item {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	return all
}

func (d description) operation(t *testing.T, row string) operation {
	t.Helper()
	method, path, _ := strings.Cut(row, " ")
	found, ok := d.Paths[path][strings.ToLower(method)]
	require.True(t, ok, "%s is not described", row)
	return found
}

// words describes a schema as the API reference does: "number|null, 0.25 to 2, default 1".
func (d description) words(s schema) string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	}
	said := []string{d.typeOf(s)}
	say := func(format string, values ...any) { said = append(said, fmt.Sprintf(format, values...)) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		say("%v to %v", *s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		say(">= %v", *s.Minimum)
	case s.ExclusiveMinimum != nil:
		say("> %v", *s.ExclusiveMinimum)
	case s.Maximum != nil:
		say("<= %v", *s.Maximum)
	}
	switch {
	case s.MinLength != nil && s.MaxLength != nil:
		say("length %d to %d", *s.MinLength, *s.MaxLength)
	case s.MinLength != nil:
		say("min length %d", *s.MinLength)
	case s.MaxLength != nil:
		say("max length %d", *s.MaxLength)
	}
	if s.Format != "" {
		say("%s", s.Format)
	}
	if s.Enum != nil {
		say("one of %s", strings.Trim(fmt.Sprint(s.Enum), "[]"))
	}
	if s.Default != nil {
		say("default %v", s.Default)
	}
	return strings.Join(said, ", ")
}

func (d description) typeOf(s schema) string {
	switch kind := s.Type.(type) {
	case string:
		if kind == "array" {
			return "array of " + d.words(*s.Items)
		}
		return kind
	case []any:
		plain := s
		plain.Type = kind[0]
		return fmt.Sprintf("%s|%v", d.typeOf(plain), kind[1])
	}
	var alternatives []string
	for _, one := range s.AnyOf {
		alternatives = append(alternatives, d.words(one))
	}
	return strings.Join(alternatives, "|")
}

// parameters returns the parameters of an operation, without those that the server itself reads.
func (d description) parameters(o operation) map[string]string {
	said := map[string]string{}
	for _, p := range o.Parameters {
		if p.Name == "" { // a reference
			continue
		}
		words := p.In + " " + d.words(p.Schema)
		if p.Required {
			words += ", required"
		}
		said[p.Name] = words
	}
	return said
}

func (d description) fields(s schema) map[string]string {
	said := map[string]string{}
	for name, property := range s.Properties {
		said[name] = d.words(property)
		if slices.Contains(s.Required, name) {
			said[name] += ", required"
		}
	}
	return said
}

func TestTheDescription(t *testing.T) {
	s := start(t, dataFolder(t))
	d := s.description()
	t.Run("has the rows of the interface", d.hasTheRows)
	t.Run("has the records of the interface", d.hasTheRecords)
	t.Run("says which credentials are accepted", d.tellsCredentials)
	t.Run("is what the server checks", s.boundsWhatIsDescribed)
}

// Where the API reference leaves a limit open, ours is in the table as well: clients should know it.
func (d description) hasTheRows(t *testing.T) {
	const models, formats = "one of aurora blizzard blizzard-2.0 blizzard-2.1 blizzard-dialogue", "one of aac mp3 raw wav ulaw webm pcm_s16le pcm_f32le"
	id := func(name string) map[string]string { return map[string]string{name: "path string, required"} }
	none := map[string]string{}
	repeated, signed := map[string]string{"idempotency-key": "header string, length 1 to 255"}, map[string]string{"stripe-signature": "header string"}
	rows := map[string]struct {
		parameters map[string]string
		reply      string // of a 200: its schema, or its content types
	}{
		"GET /v1/ai/speech": {map[string]string{
			"text": "query string, length 1 to 5000, required", "voice": "query string, required",
			"model": "query string, " + models + ", default aurora", "language": "query string, default auto",
			"format": "query string, " + formats + ", default mp3", "sample_rate": "query integer, one of 8000 16000 24000",
			"speed": "query number, 0.25 to 2, default 1", "conversational": "query boolean|null",
			"temperature": "query number|null, 0.0001 to 5", "top_k": "query integer|null, >= 0", "top_p": "query number|null, 0 to 1",
			"length": "query number|null, 0.1 to 300", "expressive": "query number|null", "quality": "query integer|null",
			"solver": "query string|null", "seed": "query integer", "return_timestamps": "query boolean, default false",
			"delay_headers": "query boolean, default false", "debug": "query boolean, default false",
			"original_text": "query string|null", "original_language": "query string|null",
		}, audioTypes},
		"POST /v1/ai/speech":                {none, "DetailedResponse"},
		"POST /v1/ai/speech/bytes":          {none, audioTypes},
		"POST /v1/ai/speech/feedback":       {none, "FeedbackResponse"},
		"POST /v1/ai/speech/kanna":          {map[string]string{"text": "query string, length 1 to 10000, required"}, "array of AlignedWord"},
		"POST /v1/ai/speech/kanna_improved": {none, "array of AlignedWord"},
		"POST /speech/beta/synthesize":      {none, audioTypes},
		"GET /speech/beta/voices":           {none, "BetaResponse"},
		"GET /speech/beta/{path}":           {id("path"), ""},
		"PUT /speech/beta/{path}":           {id("path"), ""},
		"POST /speech/beta/{path}":          {id("path"), ""},
		"DELETE /speech/beta/{path}":        {id("path"), ""},
		"GET /v1/ai/voice/list": {map[string]string{
			"starred": "query boolean", "owner": "query string, one of system me all, default all",
		}, "array of Voice"},
		"GET /v1/ai/voice/{id}":      {map[string]string{"id": "path string, required"}, "Voice"},
		"POST /v1/ai/voice/precheck": {none, "PrecheckCloneResponse"},
		"POST /v1/ai/voice":          {repeated, "Voice"},
		"PUT /v1/ai/voice/{id}":      {map[string]string{"id": "path string, required"}, "UpdateVoiceResponse"},
		"DELETE /v1/ai/voice/{id}":   {map[string]string{"id": "path string, required"}, "DeleteVoiceResponse"},
		"GET /v1/ai/voice/{id}/preview": {map[string]string{
			"id": "path string, required", "sig": "query string",
			"range": "header string", "if-range": "header string", "if-none-match": "header string",
		}, "audio/mpeg"},
		"POST /v1/ai/voice/{id}/preview/invalidate": {map[string]string{"id": "path string, required"}, "SuccessResponse"},
		"GET /v1/account":                     {none, "AccountResponse"},
		"GET /v1/account/billing_history":     {none, "array of UsageHistoryItem"},
		"GET /v1/account/daily_usage_history": {none, "array of DailyUsageHistoryItem"},
		"GET /v1/account/clips": {map[string]string{
			"page": "query integer, > 0, default 1", "page_size": "query integer, > 0, default 12",
			"language": "query string", "debug": "query boolean, default false",
			"sort_by":    "query string, one of timestamp text_length voice, default timestamp",
			"sort_order": "query string, one of asc desc, default desc",
		}, "ClipsResponse"},
		"GET /v1/account/clip/{clip_id}":    {id("clip_id"), "Clip"},
		"DELETE /v1/account/clip/{clip_id}": {id("clip_id"), "SuccessResponse"},
		"DELETE /v1/account":                {none, "SuccessResponse"},
		"GET /v1/account/new_api_key": {map[string]string{
			"type": "query string, one of integration_1 integration_2 integration_3",
		}, "ApiKeyResponse"},
		"POST /v1/account/hosting/projects":               {none, "HostingProjectResponse"},
		"POST /v1/account/hosting/env_vars":               {none, "HostingVariablesResponse"},
		"POST /v1/account/accept_tos":                     {none, "SuccessResponse"},
		"POST /v1/account/set_email_prefs":                {none, "SuccessResponse"},
		"DELETE /v1/account/api_key/{masked}":             {id("masked"), "SuccessResponse"},
		"POST /v1/account/api_key/{masked}/name":          {id("masked"), "SuccessResponse"},
		"GET /v1/account/sessions":                        {none, "SessionListResponse"},
		"DELETE /v1/account/sessions/{session_public_id}": {id("session_public_id"), "SuccessResponse"},
		"POST /v1/account/sessions/revoke_all":            {none, "SuccessResponse"},
		"GET /auth/oauth/validate":                        {none, "OAuthValidateResponse"},
		"GET /auth/oauth/login": {map[string]string{
			"provider": "query string, one of idp_1 idp_2 idp_3 idp_4, required", "redirect": "query string, length 1 to 2083, uri, required",
			"utm_source": "query string",
		}, ""},
		"GET /auth/oauth/{provider}": {map[string]string{
			"provider": "path string, one of idp_1 idp_2 idp_3 idp_4, required", "code": "query string, required",
			"state": "query string, required", "iss": "query string",
			"error": "query string", "error_description": "query string",
		}, ""},
		"GET /auth/oauth/logout":                 {map[string]string{"redirect": "query string"}, "SuccessResponse"},
		"GET /payments/products":                 {none, "array of Product"},
		"GET /payments/billing":                  {none, "BillingOverviewResponse"},
		"POST /payments/subscribe":               {repeated, "SubscribeResponse"},
		"POST /payments/change-plan":             {repeated, "ChangePlanResponse"},
		"POST /payments/cancel-scheduled-change": {repeated, "UncancelResponse"},
		"POST /payments/cancel":                  {repeated, "CancelResponse"},
		"POST /payments/uncancel":                {repeated, "UncancelResponse"},
		"POST /payments/setup-intent":            {repeated, "SetupIntentResponse"},
		"POST /payments/payment-method/replace":  {repeated, "PaymentMethodResponse"},
		"POST /payments/webhook":                 {signed, "SuccessResponse"},
		"POST /payments/webhook/analytics":       {signed, "SuccessResponse"},
		"GET /v1/damage_report":                  {none, "AlertingResponse"},
		"POST /echo":                             {map[string]string{"length": "query integer, <= 1.048576e+07, default -1"}, "*/*"},
		"GET /health_check":                      {none, "Status"},
		"GET /ready_check":                       {none, "Status"},
		"POST /drain":                            {none, "Status"},
	}
	beside := []string{ // the sockets, which have no such parameters, and routes that the API reference does not list
		"GET /v1/ai/speech/stream", "GET /speech/beta/synthesize_streaming", "GET /v1/ai/speech/timestamps/{id}",
		"GET /v1/account/clip/{clip_id}/audio", "GET /", "GET /openapi.json", "GET /docs", "GET /docs/assets/{name}",
	}
	require.ElementsMatch(t, slices.AppendSeq(beside, maps.Keys(rows)), d.operations(), "a new route needs a row here")
	for row, c := range rows {
		o := d.operation(t, row)
		require.Equal(t, c.parameters, d.parameters(o), row)
		require.Equal(t, c.reply, d.reply(o), row)
		for _, refused := range []string{"503", "default"} {
			require.Contains(t, o.Responses, refused, row)
		}
	}
}

const audioTypes = "application/vnd.lmnt.audio-fp32 application/vnd.lmnt.audio-int16 audio/aac audio/mpeg audio/wav audio/webm"

func (d description) reply(o operation) string {
	content := o.Responses["200"].Content
	if json, ok := content["application/json"]; ok {
		return d.words(json.Schema)
	}
	return strings.Join(slices.Sorted(maps.Keys(content)), " ")
}

func (d description) hasTheRecords(t *testing.T) {
	for name, fields := range map[string]map[string]string{
		"Voice": {
			"id": "string, required", "name": "string, required",
			"state": "string, one of preparing pending training ready broken cancelled, required",
			"owner": "string, one of system me all, required", "type": "string, one of instant professional intrinsic, required",
			"description": "string|null", "gender": "string|null", "starred": "boolean|null", "tags": "array of string|null",
			"preview_url": "string|null, min length 1, uri", "reason": "string",
		},
		"OAuthValidateResponse": {
			"id": "string, required", "name": "string, required", "email": "string, required",
			"profile_picture": "string|null, length 1 to 2083, uri",
		},
		"Clip": {
			"id": "string, required", "original_text": "string|null", "original_language": "string|null",
			"url": "string, length 1 to 2083, uri, required", "voice": "string, required", "timestamp": "integer, required",
			"text": "string|null", "speed": "number|null, 0.25 to 2", "language": "string|null", "debug": "boolean, default false",
		},
		"ClipsResponse": {
			"clips": "array of Clip, required", "page": "integer, > 0, required", "page_size": "integer, > 0, required",
			"total_clips": "integer, >= 0, required", "total_pages": "integer, >= 0, required",
		},
		"AlertingResponse": {"red_alerts": "array of string, required"},
		"AccountResponse": {
			"plan": "PlanInfo, required", "usage": "UsageInfo, required", "apikeys": "array of ApiKeyInfo|null",
			"accepted_tos": "boolean|null", "wants_email": "boolean|null", "sub_state": "string|null", "cancel_at_period_end": "boolean|null",
		},
		"PlanInfo": {
			"type": "string, required", "commercial_use_allowed": "boolean, required", "character_limit": "integer|null, >= 0",
		},
		"UsageInfo": {
			"characters": "integer, >= 0, default 0", "playground_characters": "integer, >= 0, default 0",
			"credit_characters": "integer, >= 0, default 0", "instant_voices": "integer|null, >= 0, default 0",
			"professional_voices": "integer|null, >= 0, default 0", "period_end": "integer|null",
		},
		"UsageHistoryItem": {
			"plan": "string, required", "period_end": "integer, required", "chars_used": "integer, >= 0, required",
			"playground_chars_used": "integer, >= 0, default 0",
		},
		"DailyUsageHistoryItem": {
			"api_chars_used": "integer, >= 0, required", "playground_chars_used": "integer, >= 0, required", "day": "string, date, required",
		},
		"ApiKeyResponse":      {"apikey": "string, required", "masked": "string, required"},
		"ApiKeyInfo":          {"masked": "string, required", "name": "string|null", "created_at": "integer|null"},
		"SessionListResponse": {"sessions": "array of SessionInfo, required"},
		"SessionInfo": {
			"id": "string, required", "device_label": "string|null", "country": "string|null",
			"created_at": "integer, required", "updated_at": "integer, required", "current": "boolean, default false",
		},
		"Product": {
			"name": "string, required", "price_id": "string|null", "monthly_cost": "integer|null, >= 0", "additional_unit_cost": "number|null, >= 0",
			"char_limit": "integer|null, >= 0", "chars_per_unit": "integer|null, >= 0",
		},
		"SubscribeResponse": {
			"subscription_id": "string, required", "client_secret": "string, required", "amount": "integer, required", "currency": "string, required",
			"applied_discount": "AppliedDiscount|null",
		},
		"AppliedDiscount":       {"name": "string, required", "description": "string, required"},
		"ChangePlanResponse":    {"kind": "string, one of upgraded downgrade_scheduled, required", "effective_at": "integer, required"},
		"CancelResponse":        {"cancel_at": "integer, required"},
		"UncancelResponse":      {"success": "boolean, required"},
		"SetupIntentResponse":   {"client_secret": "string, required"},
		"PaymentMethodResponse": {"brand": "string, required", "last4": "string, required"},
		"BillingOverviewResponse": {
			"subscription": "SubscriptionResponse, required", "payment_method": "PaymentMethodResponse|null", "invoices": "array of InvoiceItem",
		},
		"SubscriptionResponse": {
			"price_id": "string|null", "status": "string|null", "current_period_end": "integer|null", "cancel_at_period_end": "boolean, default false",
			"scheduled_change": "ScheduledChange|null",
		},
		"ScheduledChange": {"price_id": "string, required", "plan_name": "string|null", "effective_at": "integer, required"},
		"InvoiceItem": {
			"id": "string, required", "number": "string|null", "status": "string|null", "amount_paid": "integer, required", "currency": "string, required",
			"created": "integer, required", "hosted_invoice_url": "string|null", "invoice_pdf": "string|null",
		},
		"SuccessResponse": {"success": "boolean, required"}, "FeedbackResponse": {"success": "boolean, required"},
		"ValidationError": {"loc": "array of string|integer, required", "msg": "string, required", "type": "string, required", "ctx": "object"},
	} {
		require.Equal(t, fields, d.fields(d.Components.Schemas[name]), name)
	}
	require.Equal(t, "array of ValidationError, required", d.fields(d.Components.Schemas["HTTPValidationError"])["detail"])
	feedback := d.operation(t, "POST /v1/ai/speech/feedback").RequestBody
	require.True(t, feedback.Required)
	require.Contains(t, feedback.Content, "application/x-www-form-urlencoded")
	require.Equal(t, map[string]string{
		"id": "string, required", "rating": "string, one of thumbsUp thumbsDown, required",
		"text": "string|null, max length 5000", "context": "string|null, max length 5000",
	}, d.fields(d.Components.Schemas["PostSpeechFeedbackRequest"]))
}

func (d description) tellsCredentials(t *testing.T) {
	key, cookie := map[string][]string{"ApiKeyHeader": {}}, map[string][]string{"SessionCookie": {}}
	for row, want := range map[string][]map[string][]string{
		"GET /v1/account":                {key, cookie},
		"DELETE /v1/account":             {key, cookie},
		"GET /v1/account/new_api_key":    {key, cookie},
		"POST /v1/ai/speech/bytes":       {key, cookie},
		"GET /v1/ai/speech":              {key},
		"GET /v1/account/clip/{clip_id}": {},
		"GET /v1/ai/voice/{id}/preview":  {{}, key, cookie},
		"POST /echo":                     {},
	} {
		require.Equal(t, want, d.operation(t, row).Security, row)
	}
}

// Whatever limits are described, the server refuses values beyond them, and none within.
func (s *server) boundsWhatIsDescribed(t *testing.T) {
	checked := 0
	for path, item := range s.description().Paths {
		for method, o := range item {
			for _, p := range o.Parameters {
				if p.In != "query" {
					continue
				}
				for _, value := range within(p.Schema) {
					require.False(t, s.refuses(method, path, p.Name, value), "%s %s: %s=%s", method, path, p.Name, value)
					checked++
				}
				for _, value := range beyond(p.Schema) {
					require.True(t, s.refuses(method, path, p.Name, value), "%s %s: %s=%s", method, path, p.Name, value)
					checked++
				}
			}
		}
	}
	require.Greater(t, checked, 60)
}

func within(s schema) (values []string) {
	for _, one := range s.Enum {
		if one != nil {
			values = append(values, fmt.Sprint(one))
		}
	}
	for _, bound := range []*float64{s.Minimum, s.Maximum} {
		if bound != nil {
			values = append(values, fmt.Sprintf("%f", *bound))
		}
	}
	if s.ExclusiveMinimum != nil {
		values = append(values, fmt.Sprintf("%.0f", *s.ExclusiveMinimum+1))
	}
	if s.MaxLength != nil && s.Enum == nil && s.Format == "" {
		values = append(values, strings.Repeat("é", *s.MaxLength))
	}
	return values
}

func beyond(s schema) (values []string) {
	if s.Enum != nil {
		values = append(values, "nothing-of-these", "7")
	}
	if s.Minimum != nil {
		values = append(values, fmt.Sprintf("%f", *s.Minimum-1))
	}
	if s.ExclusiveMinimum != nil {
		values = append(values, fmt.Sprintf("%f", *s.ExclusiveMinimum))
	}
	if s.Maximum != nil {
		values = append(values, fmt.Sprintf("%f", *s.Maximum+1))
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		values = append(values, "")
	}
	if s.MaxLength != nil {
		values = append(values, strings.Repeat("é", *s.MaxLength+1))
	}
	return values
}

// refuses reports whether a 422 complains about a parameter, whatever else it complains about.
func (s *server) refuses(method, path, name, value string) bool {
	s.t.Helper()
	address := s.address + strings.NewReplacer("{", "", "}", "").Replace(path) + "?" + url.Values{name: {value}}.Encode()
	request, err := http.NewRequest(strings.ToUpper(method), address, nil)
	require.NoError(s.t, err)
	request.Header.Set("x-api-key", s.key)
	got := do(s.t, request)
	if got.status != 422 {
		return false
	}
	var told struct{ Detail []struct{ Loc []any } }
	require.NoError(s.t, json.Unmarshal(got.body, &told))
	return slices.ContainsFunc(told.Detail, func(item struct{ Loc []any }) bool { return slices.Contains(item.Loc, any(name)) })
}
