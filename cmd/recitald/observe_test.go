package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.yaml.in/yaml/v3"

	"github.com/recital-tts/recital/internal/process/tracing/tracingtest"
	"github.com/recital-tts/recital/internal/standins/sandbox"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// private is a part of all private texts of a mixed run.
const private = "Zyzzogeton"

// mixedRun is a recitald with clients of all kinds.
type mixedRun struct {
	*server
	customer customer
	secrets  []string // that were shown to clients
	spoken   string   // id of a request whose reply was streamed
}

func (s *server) mix(t *testing.T) *mixedRun {
	m := &mixedRun{server: s, customer: s.openAccount("indie")}
	m.secrets = []string{s.key, m.customer.key, s.secret("operator-token"), s.secret("auditor-token")}
	m.speak(t)
	m.pay(t)
	m.host(t)
	m.browse(t)
	for i := range 2 {
		m.stray(t, i)
	}
	m.loseAStream(m.customer, private+" is interrupted.")
	exceeded := m.openAccount("free")
	most := order{"text": strings.Repeat(private+" is long. ", 180), "voice": "leah", "speed": 2}
	m.eventually(func() bool { return exceeded.post(t, detailedRoute, most).status == 402 })
	return m
}

func (m *mixedRun) speak(t *testing.T) {
	text := private + " is in this text. It has a second sentence."
	spoken := m.customer.post(t, bytesRoute, order{"text": text, "voice": "leah", "debug": true,
		"return_timestamps": true})
	require.Equal(t, 200, spoken.status, spoken.text())
	m.spoken = spoken.header.Get("request-id")
	require.Equal(t, 200, m.customer.post(t, detailedRoute, order{"text": text, "voice": "zeke", "format": "wav"}).status)
	given := m.customer.request(http.MethodPost, "/v1/ai/speech/feedback", strings.NewReader(
		url.Values{"id": {spoken.header.Get("X-Generation-Id")}, "rating": {"thumbsDown"}, "text": {private}}.Encode()),
		"Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, 200, do(t, given).status)
	require.Equal(t, 200, do(t, m.customer.request(http.MethodGet, "/v1/account/clips", nil)).status)

	talk := m.customer.talk(t, nil)
	talk.say(text, 5)
	talk.send(order{"type": "finish"})
	talk.end()
}

func (m *mixedRun) pay(t *testing.T) {
	c := m.openAccount("free")
	m.secrets = append(m.secrets, c.key, c.subscribe(t, "indie").ClientSecret)
	require.Equal(t, 200, do(t, c.request(http.MethodGet, "/payments/billing", nil)).status)
	forged := do(t, c.request(http.MethodPost, "/payments/webhook", strings.NewReader(`{"id":"`+private+`"}`),
		"Stripe-Signature", "t=1,v1="+private))
	require.Equal(t, 400, forged.status)
	require.NotEqual(t, 200,
		c.post(t, "/payments/subscribe", order{"price_id": sandbox.PriceOf("indie") + private}).status)
}

func (m *mixedRun) host(t *testing.T) {
	config, code := m.installs("zyzzogeton-site")
	m.secrets = append(m.secrets, code)
	m.customer.hosts(t, "projects", url.Values{"config_id": {config}, "code": {code}})
	m.customer.hosts(t, "env_vars", url.Values{"config_id": {config}, "add_project_names": {"zyzzogeton-site"}})
}

func (m *mixedRun) browse(t *testing.T) {
	v := m.person()
	v.signIn(strings.ToLower(private) + "@example.com")
	require.Equal(t, 200, v.speak(private+" speaks in the playground.").status)
	made := requireOK(t, v.get(m.address+"/v1/account/new_api_key"))
	var key struct {
		Key string `json:"apikey"`
	}
	made.decode(t, &key)
	m.secrets = append(m.secrets, key.Key)
	for _, cookie := range v.client.Jar.Cookies(mustParse(m.address)) {
		m.secrets = append(m.secrets, cookie.Value)
	}
	require.Equal(t, 200, v.get(m.address+"/v1/account/sessions").status)
}

// loseAStream kills the codecs during a reply.
func (s *server) loseAStream(c customer, text string) {
	s.t.Helper()
	request := order{"text": strings.Repeat(text+" ", 90), "voice": "leah", "format": "pcm_s16le"}
	response, err := slowly().Do(c.request(http.MethodPost, bytesRoute, request.encode()))
	require.NoError(s.t, err)
	defer response.Body.Close()
	require.Equal(s.t, 200, response.StatusCode)
	for _, codec := range s.workers("codec") {
		codec.kill(s.t)
	}
	s.eventually(func() bool { return len(s.workers("codec")) > 0 })
}

// stray makes the requests of a stranger with a number.
func (m *mixedRun) stray(t *testing.T, number int) {
	mark := fmt.Sprint(private, number)
	c := m.openAccount("free")
	m.secrets = append(m.secrets, c.key)
	for _, request := range []*http.Request{
		c.request(http.MethodGet, "/"+mark, nil),
		c.request(http.MethodGet, "/v1/ai/voice/"+mark+"?"+mark+"="+mark, nil, "User-Agent", mark, "Referer", mark, "Origin",
			"https://"+mark+".example"),
		c.request("BREW"+mark, "/v1/account", nil),
		c.request(http.MethodPost, bytesRoute, order{"text": mark, "voice": mark}.encode(), "Content-Type",
			"application/json"),
		c.request(http.MethodPost, bytesRoute, order{"text": mark, "voice": "leah", "format": mark}.encode(), "Content-Type",
			"application/json"),
		c.request(http.MethodPost, bytesRoute, order{"text": mark, "voice": "leah"}.encode(), "Content-Type",
			"application/json", "Idempotency-Key", mark),
		c.request(http.MethodPost, bytesRoute, strings.NewReader(`{"text":"`+mark)),
		customer{server: m.server, key: mark}.request(http.MethodGet, "/v1/account", nil),
	} {
		require.NotZero(t, do(t, request).status)
	}
}

func TestMetricsTracesAndLogsShowAMixedRunWithoutPrivateTexts(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	receiver := tracingtest.Open(t)
	s := start(t, dataFolder(t), "--log-level=debug", "--log-format=json", "--otlp-endpoint="+receiver.URL)
	m := s.mix(t)
	s.requireSettledBooks()
	s.metrics() // the first scrape is a request that the next one counts
	before := s.metrics()
	for i := range strangers - 2 {
		m.stray(t, 2+i)
	}
	after := s.allFigures()
	s.interrupt() // flushes the traces
	log := read(t, s.log)

	t.Run("they have no private text", func(t *testing.T) {
		for name, told := range map[string]string{"log": log, "metrics": after, "traces": receiver.Text()} {
			require.NotContains(t, strings.ToLower(told), strings.ToLower(private), name)
			require.NotContains(t, told, "Lovelace", name)
			for _, secret := range m.secrets {
				require.NotContains(t, told, secret, name)
			}
		}
		require.NotContains(t, after, m.customer.id)
		require.NotContains(t, receiver.Text(), m.customer.id)
	})
	t.Run("strangers add no series", func(t *testing.T) {
		require.Equal(t, seriesOf(t, before), seriesOf(t, after))
	})
	t.Run("each line of the log is JSON, and lines of requests have ids",
		func(t *testing.T) { requireJSONLog(t, log, m.spoken) })
	t.Run("a trace has all parts of a request",
		func(t *testing.T) { requireTrace(t, receiver.Spans(), m.spoken) })
	t.Run("the metrics count the requests", func(t *testing.T) { requireFigures(t, families(t, after)) })
	t.Run("the metrics are documented", func(t *testing.T) { requireDocumented(t, families(t, after)) })
	t.Run("the alert rules use metrics that exist", func(t *testing.T) { requireRulesFit(t, families(t, after)) })
}

// allFigures scrapes until the metrics from Postgres and the log are there, too. On a slow machine they may be late.
func (s *server) allFigures() (text string) {
	s.t.Helper()
	s.eventually(func() bool {
		text = s.metrics()
		for _, late := range []string{"recital_projection_lag_seconds{", "recital_todo_due_items{", "recital_clips_to_erase ",
			"recital_audit_head_events "} {
			if !strings.Contains(text, late) {
				return false
			}
		}
		return true
	})
	return text
}

func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	return all
}

// seriesOf returns the names and labels of the metrics of requests.
func seriesOf(t *testing.T, text string) (series []string) {
	t.Helper()
	for name, family := range families(t, text) {
		if strings.HasPrefix(name, "recital_http_") || strings.HasPrefix(name, "recital_speech_") {
			for _, metric := range family.Metric {
				series = append(series, fmt.Sprint(name, metric.Label))
			}
		}
	}
	slices.Sort(series)
	return series
}

func requireJSONLog(t *testing.T, log, request string) {
	t.Helper()
	found := 0
	for line := range strings.Lines(log) {
		var read struct {
			Time, Level, Msg, Route string
			Request                 string `json:"request_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &read), line)
		require.NotEmpty(t, read.Time+read.Level+read.Msg, line)
		if read.Msg == "request" {
			require.NotEmpty(t, read.Request, line)
		}
		if read.Request == request {
			found++
		}
	}
	require.Positive(t, found, "no line has the request's id")
}

func requireTrace(t *testing.T, spans []*otlp.Span, request string) {
	t.Helper()
	i := slices.IndexFunc(spans,
		func(s *otlp.Span) bool { return tracingtest.Attribute(s, "recital.request_id") == request })
	require.GreaterOrEqual(t, i, 0, "no trace of the request %s", request)
	root := spans[i]
	require.Equal(t, "POST "+bytesRoute, root.Name)
	require.Equal(t, bytesRoute, tracingtest.Attribute(root, "http.route"))
	below := tracingtest.Below(root, spans)
	named := func(name, key, value string, within []*otlp.Span) *otlp.Span {
		t.Helper()
		i := slices.IndexFunc(within, func(s *otlp.Span) bool {
			return s.Name == name && (key == "" || tracingtest.Attribute(s, key) == value)
		})
		require.GreaterOrEqual(t, i, 0, "no %s %s in the trace", name, value)
		return within[i]
	}
	named("speech segment", "", "", below)
	reserve := named("command", "recital.command", "ledger.Reserve", below)
	named("append", "recital.stream", "usage", tracingtest.Below(reserve, spans))
	settle := named("command", "recital.command", "ledger.Settle", below)
	wait := named("wait for read models", "", "", below)
	require.GreaterOrEqual(t, wait.EndTimeUnixNano, settle.EndTimeUnixNano)
	require.Equal(t, "first audio", root.Events[0].Name)
	for _, span := range spans {
		require.NotContains(t, span.Name, "/health_check")
		require.NotContains(t, span.Name, "/metrics")
	}
}

// strangers is the number of strangers in a mixed run.
const strangers = 14

func requireFigures(t *testing.T, figures map[string]*dto.MetricFamily) {
	t.Helper()
	for _, c := range []struct {
		figure, labels string
		least, most    float64
	}{
		// Each stranger synthesises once, and once with an unknown voice.
		{"recital_speech_syntheses_total", "kind=streamed outcome=done", 2 + strangers, 2 + strangers},
		{"recital_speech_syntheses_total", "kind=streamed outcome=refused", strangers, strangers},
		// Four long ones exceed the quota but for a rest.
		{"recital_speech_syntheses_total", "kind=collected outcome=done", 1 + 4, 1 + 4},
		{"recital_speech_syntheses_total", "kind=unit outcome=done", 1, 10},
		{"recital_speech_first_audio_seconds", "format=mp3 kind=streamed", 2 + strangers, 2 + strangers},
		{"recital_speech_first_audio_seconds", "format=mp3 kind=unit", 1, 10},
		{"recital_speech_characters_total", "kind=collected", 53 + 4*3600, 53 + 4*3600},
		{"recital_payment_notices_total", "endpoint=payments signature=forged", 1, 1},
		{"recital_provider_request_seconds", "provider=payments status=2xx", 1, 1000},
		{"recital_provider_request_seconds", "provider=hosting status=2xx", 2, 1000},
		{"recital_provider_request_seconds", "provider=sign_in status=2xx", 2, 1000},
		{"recital_log_append_seconds", "outcome=done", 4 * strangers, 100_000},
		{"recital_node_sync_seconds", "", strangers, 100_000},
		{"recital_node_log_bytes", "", 10_000, 1e9},
		{"recital_node_disk_bytes", "", 1, 1e9},
		{"recital_node_disk_free_bytes", "", 1, 1e18},
		{"recital_postgres_acquires_total", "", strangers, 1e6},
		{"recital_postgres_connections_max", "", 1, 1e4},
		{"recital_ready", "", 0, 1},
		{"recital_log_silence_seconds", "", 0, 3600},
	} {
		value := valueOf(figures[c.figure], c.labels)
		require.GreaterOrEqual(t, value, c.least, "%s{%s}", c.figure, c.labels)
		require.LessOrEqual(t, value, c.most, "%s{%s}", c.figure, c.labels)
	}
}

// valueOf returns a metric's value, or a histogram's number of observations, or -1 if there is none.
func valueOf(family *dto.MetricFamily, labels string) float64 {
	for _, metric := range family.GetMetric() {
		var has []string
		for _, label := range metric.Label {
			has = append(has, label.GetName()+"="+label.GetValue())
		}
		slices.Sort(has)
		if strings.Join(has, " ") == labels {
			return metric.GetGauge().GetValue() + metric.GetCounter().GetValue() +
				float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

// figuresFile documents all metrics. RECITAL_WRITE_DOCS=1 makes the test write it.
var figuresFile = filepath.Join("..", "..", "docs", "metrics.md")

// occasional returns the metrics that exist only after an event that a mixed run may not have.
func occasional() []string {
	return []string{"recital_command_conflicts_total", "recital_http_streams_aborted_total",
		"recital_projection_foreign_events_total"}
}

var figureRow = regexp.MustCompile("(?m)^\\| `(recital_[a-z_]+)` \\|.*\\|$")

func requireDocumented(t *testing.T, emitted map[string]*dto.MetricFamily) {
	t.Helper()
	text := read(t, figuresFile)
	rows := map[string]string{}
	for _, row := range figureRow.FindAllStringSubmatch(text, -1) {
		rows[row[1]] = row[0]
	}
	wanted := map[string]string{}
	for name, family := range emitted {
		if strings.HasPrefix(name, "recital_") {
			wanted[name] = rowOf(family)
		}
	}
	for _, name := range occasional() {
		if row, ok := rows[name]; ok && wanted[name] == "" {
			wanted[name] = row
		}
	}
	if os.Getenv("RECITAL_WRITE_DOCS") != "" {
		head, _, _ := strings.Cut(text, "| `recital_")
		var table []string
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			table = append(table, wanted[name])
		}
		require.NoError(t, os.WriteFile(figuresFile, []byte(head+strings.Join(table, "\n")+"\n"), 0o644))
		return
	}
	require.Equal(t, wanted, rows, "docs/metrics.md does not match the metrics; set RECITAL_WRITE_DOCS=1 to write it")
}

func rowOf(family *dto.MetricFamily) string {
	var labels []string
	for _, metric := range family.Metric {
		for _, label := range metric.Label {
			if quoted := "`" + label.GetName() + "`"; !slices.Contains(labels, quoted) {
				labels = append(labels, quoted)
			}
		}
	}
	slices.Sort(labels)
	return fmt.Sprintf("| `%s` | %s | %s | %s |", family.GetName(), strings.ToLower(family.GetType().String()),
		strings.Join(labels, ", "), family.GetHelp())
}

var (
	selector = regexp.MustCompile(`\b(recital_[a-z_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)(=~|=)"([^"]*)"`)
)

func requireRulesFit(t *testing.T, emitted map[string]*dto.MetricFamily) {
	t.Helper()
	deploy := filepath.Join("..", "..", "deploy")
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(deploy, "alerts.yml"))), &rules))
	tests := read(t, filepath.Join(deploy, "alerts_test.yml"))
	seen := 0
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			require.Contains(t, tests, fmt.Sprintf("alertname=%q", rule.Alert),
				"deploy/alerts_test.yml does not show when the alert fires")
			for _, used := range selector.FindAllStringSubmatch(rule.Expr, -1) {
				family := familyOf(emitted, used[1])
				require.NotNil(t, family, "%s: recitald has no metric %s", rule.Alert, used[1])
				requireSelects(t, rule.Alert, family, used[2])
				seen++
			}
		}
	}
	require.Greater(t, seen, 20)
}

// familyOf finds a metric by its name or by the name of a histogram's part.
func familyOf(emitted map[string]*dto.MetricFamily, name string) *dto.MetricFamily {
	for _, part := range []string{"", "_bucket", "_count", "_sum"} {
		if family := emitted[strings.TrimSuffix(name, part)]; strings.HasSuffix(name, part) && family != nil {
			return family
		}
	}
	return nil
}

// requireSelects checks that some series has each matcher's label, and its exact value.
func requireSelects(t *testing.T, rule string, family *dto.MetricFamily, matchers string) {
	t.Helper()
	for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
		fits := slices.ContainsFunc(family.Metric, func(metric *dto.Metric) bool {
			return slices.ContainsFunc(metric.Label, func(l *dto.LabelPair) bool {
				return l.GetName() == m[1] && (m[2] == "=~" || l.GetValue() == m[3])
			})
		})
		require.True(t, fits, "%s: no %s has %s", rule, family.GetName(), m[0])
	}
}
