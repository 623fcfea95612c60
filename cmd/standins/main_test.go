package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// program is the real binary.
var program bintest.Program

func TestMain(m *testing.M) {
	built, remove, err := bintest.Build("standins")
	if err != nil {
		panic(err)
	}
	program = built
	code := m.Run()
	remove()
	os.Exit(code)
}

func config(t *testing.T) standins.Config {
	return standins.Config{
		Payments: &standins.Payments{File: filepath.Join(t.TempDir(), "sandbox.jsonl"), Address: "127.0.0.1:0",
			Key: "sk_test_1", WebhookSecret: "whsec_1"},
		SignIn:  &standins.SignIn{Address: "127.0.0.1:0", Issuers: []string{"idp_1"}, ClientSecret: "secret"},
		Hosting: &standins.Hosting{Address: "127.0.0.1:0", ClientID: "recital", ClientSecret: "secret"},
	}
}

func start(t *testing.T, config standins.Config) (*workers.Process, standins.Started) {
	t.Helper()
	process, started, err := standins.Start(workers.Command{Path: program.Path(), Alone: true}, config)
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		<-process.Done()
	})
	return process, started
}

func ask(t *testing.T, method, address, body string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer sk_test_1")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0
	}
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

func TestTheStandInsServeUntilTheirInputEnds(t *testing.T) {
	process, started := start(t, config(t))
	require.Equal(t, 200, ask(t, "GET", started.Payments+"/v1/prices", ""))
	require.Equal(t, 200, ask(t, "GET", started.SignIn+"/idp_1/.well-known/openid-configuration", ""))
	require.Equal(t, 200, ask(t, "GET", started.Hosting+"/", ""))
	process.CloseInput()
	select {
	case <-process.Done():
		require.NoError(t, process.Err())
	case <-time.After(time.Minute):
		t.Fatal("it does not exit")
	}
}

func TestTheSandboxKeepsItsStateOverACrash(t *testing.T) {
	wanted := config(t)
	process, started := start(t, wanted)
	require.Equal(t, 200, ask(t, "POST", started.Payments+"/v1/customers", "metadata[account]=mine"))
	require.Equal(t, 200, ask(t, "GET", started.Payments+"/v1/customers?limit=1", ""))
	process.Kill()
	<-process.Done()

	_, again := start(t, wanted.At(started))
	require.Equal(t, started, again, "the addresses are the same")
	require.Equal(t, 200, ask(t, "GET", again.Payments+"/v1/customers/cus_0000000001", ""))
}

func TestAnAddressThatIsNotOnLoopbackIsRefused(t *testing.T) {
	wanted := config(t)
	wanted.SignIn.Address = "0.0.0.0:0"
	_, _, err := standins.Start(workers.Command{Path: program.Path(), Alone: true}, wanted)
	require.ErrorContains(t, err, "on loopback only")
}
