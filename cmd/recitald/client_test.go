package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
)

const (
	bytesRoute    = "/v1/ai/speech/bytes"
	detailedRoute = "/v1/ai/speech"
)

// customer is an account with its key.
type customer struct {
	server *server
	id     string
	key    string
}

// adminRequest returns a request of an operator.
func (s *server) adminRequest(method, path, body string) *http.Request {
	request, err := http.NewRequest(method, s.admin+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the test's URL is invalid
	}
	request.Header.Set("Authorization", "Bearer "+s.secret("operator-token"))
	request.Header.Set("Content-Type", "application/json")
	return request
}

// openAccount opens an account as recitalctl does.
func (s *server) openAccount(plan string) customer {
	s.t.Helper()
	return s.opened(requireOK(s.t, do(s.t, s.adminRequest(http.MethodPost, "/admin/accounts", `{"plan":"`+plan+`"}`))))
}

// opened returns the account in the reply to its opening.
func (s *server) opened(answer reply) customer {
	s.t.Helper()
	var opened struct {
		Account string `json:"account_id"`
		Key     string `json:"apikey"`
	}
	answer.decode(s.t, &opened)
	return customer{server: s, id: opened.Account, key: opened.Key}
}

// operator returns the account that the first start opens.
func (s *server) operator() customer { return customer{server: s, id: "operator", key: s.key} }

// at returns the same account at another recitald with the same data.
func (c customer) at(s *server) customer { return customer{server: s, id: c.id, key: c.key} }

// reply is a complete response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) text() string { return string(r.body) }

func (r reply) decode(t *testing.T, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.body, into), r.text())
}

// lateness bounds the wait for a reply on a machine that is too slow for the service's own two seconds.
const lateness = 30 * time.Second

// isLate reports whether a read could not be answered in time, because the read models are behind the log.
func (r reply) isLate() bool {
	return r.status == http.StatusServiceUnavailable && strings.Contains(r.text(), "The read models are behind") ||
		r.status == http.StatusGatewayTimeout && strings.Contains(r.text(), "The position was not reached in time")
}

// do sends a request and reads the complete reply. It repeats a read that is late, and waits until a write is visible:
// a slow machine may need longer than the two seconds that the service waits.
func do(t *testing.T, request *http.Request) reply {
	t.Helper()
	answer := once(t, request)
	if request.Method == http.MethodGet {
		for end := time.Now().Add(lateness); answer.isLate() && time.Now().Before(end); time.Sleep(pause) {
			answer = once(t, request)
		}
	}
	if answer.header.Get("X-Recital-Stale") != "" {
		awaitVisible(t, request, answer.header.Get("X-Recital-Position"))
	}
	return answer
}

// awaitVisible waits until the account of a request shows a position. It does not wait for operators' requests.
func awaitVisible(t *testing.T, written *http.Request, position string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+written.URL.Host+"/v1/account", nil)
	require.NoError(t, err)
	request.Header = written.Header.Clone()
	request.Header.Set("X-Recital-Min-Position", position)
	for end := time.Now().Add(lateness); once(t, request).isLate() && time.Now().Before(end); {
		time.Sleep(pause)
	}
}

// once sends a request without repeating it, and reads the complete reply.
func once(t *testing.T, request *http.Request) reply {
	t.Helper()
	response, err := http.DefaultClient.Do(request.WithContext(t.Context()))
	require.NoError(t, err)
	defer response.Body.Close()
	if request.URL.Path == eventsRoute && response.StatusCode == http.StatusOK { // it has no end
		return reply{status: response.StatusCode, header: response.Header}
	}
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{status: response.StatusCode, header: response.Header, body: body}
}

// order is a JSON body of the speech routes.
type order map[string]any

func (o order) encode() *bytes.Reader {
	encoded, err := json.Marshal(o)
	if err != nil {
		panic(err) // the test's value is not JSON
	}
	return bytes.NewReader(encoded)
}

func (c customer) request(method, path string, body io.Reader, headers ...string) *http.Request {
	request, err := http.NewRequest(method, c.server.address+path, body)
	if err != nil {
		panic(err) // the test's URL is invalid
	}
	request.Header.Set("X-Api-Key", c.key)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request
}

// post sends an order and reads the complete response.
func (c customer) post(t *testing.T, path string, o order, headers ...string) reply {
	t.Helper()
	return do(t, c.request(http.MethodPost, path, o.encode(), headers...))
}

// read decodes the reply to a GET request, which must succeed.
func (c customer) read(t *testing.T, path string, into any, headers ...string) {
	t.Helper()
	requireOK(t, do(t, c.request(http.MethodGet, path, nil, headers...))).decode(t, into)
}

// requireOK returns a reply, which must have the status 200.
func requireOK(t *testing.T, answer reply) reply {
	t.Helper()
	require.Equal(t, http.StatusOK, answer.status, answer.text())
	return answer
}

// accountView is GET /v1/account.
type accountView struct {
	Plan struct {
		Type       plan.Type
		Limit      *int64 `json:"character_limit"`
		Commercial bool   `json:"commercial_use_allowed"`
	}
	Usage struct {
		Characters   int64
		Playground   int64  `json:"playground_characters"`
		Credit       *int64 `json:"credit_characters"`
		Instant      int    `json:"instant_voices"`
		Professional int    `json:"professional_voices"`
		PeriodEnd    int64  `json:"period_end"`
	}
	APIKeys []struct {
		Masked string
		Name   *string
	}
	SubState          *string `json:"sub_state"`
	CancelAtPeriodEnd bool    `json:"cancel_at_period_end"`
	AcceptedTOS       bool    `json:"accepted_tos"`
}

func (c customer) account(t *testing.T, headers ...string) (shown accountView) {
	t.Helper()
	c.read(t, "/v1/account", &shown, headers...)
	return shown
}

// usage returns what GET /v1/account shows now, in characters.
func (c customer) usage(t *testing.T, headers ...string) int64 {
	t.Helper()
	return c.account(t, headers...).Usage.Characters
}

// recording is the response of the detailed route.
type recording struct {
	Audio      string `json:"audio"`
	Seed       *int64 `json:"seed"`
	Timestamps []word `json:"timestamps"`
	Durations  []word `json:"durations"`
}

type word struct {
	Text     string  `json:"text"`
	Start    float64 `json:"start"`    // seconds
	Duration float64 `json:"duration"` // seconds
}

func (r recording) sound(t *testing.T) []byte {
	t.Helper()
	sound, err := base64.StdEncoding.DecodeString(r.Audio)
	require.NoError(t, err)
	return sound
}

// slowly returns a client with small buffers, which slows the server down.
func slowly() *http.Client {
	return &http.Client{Transport: openapitest.Through(&http.Transport{DialContext: slowDialer().DialContext,
		DisableKeepAlives: true})}
}

// slowDialer has small buffers. Packets of the Internet's size keep the kernel's buffers on the server's side small,
// too: on loopback they are 64 KiB otherwise.
func slowDialer() *net.Dialer {
	return &net.Dialer{Control: func(_, _ string, connection syscall.RawConn) (err error) {
		failed := connection.Control(func(fd uintptr) {
			err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 16<<10),
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1400))
		})
		return errors.Join(failed, err)
	}}
}

// prose returns a text of n characters, some of them multi-byte. It has no isolated full stop, which would not be
// billed.
func prose(characters int) string {
	var text []rune
	for i := 1; len(text) < characters; i++ {
		text = append(text, []rune(fmt.Sprintf("The quick brown fox number %d jumps over the café. ", i))...)
	}
	said := string(text[:characters-1])
	if last, _ := utf8.DecodeLastRuneInString(said); !unicode.IsLetter(last) && !unicode.IsNumber(last) {
		return said + "I"
	}
	return said + "."
}
