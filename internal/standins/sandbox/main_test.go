package sandbox_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// folderVariable names the folder of the sandbox that the test binary runs instead of tests.
const folderVariable = "SANDBOX_TEST_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVariable); folder != "" {
		beSandbox(folder)
	}
	goleak.VerifyTestMain(m)
}

// beSandbox runs a sandbox until the process is killed.
func beSandbox(folder string) {
	s, err := sandbox.Open(configIn(folder))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	select {}
}

func TestAnsweredRequestsSurviveAKill(t *testing.T) {
	folder := t.TempDir()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), folderVariable+"="+folder)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)

	api := client(t, strings.TrimSpace(url))
	ended := make(chan []string)
	go func() {
		var made []string
		for {
			c, err := api.V1Customers.Create(t.Context(), &stripe.CustomerCreateParams{})
			if err != nil {
				ended <- made
				return
			}
			if made = append(made, c.ID); len(made) == 20 {
				_ = command.Process.Kill() // during the creation of other objects
			}
		}
	}()
	made := <-ended
	require.GreaterOrEqual(t, len(made), 20)
	require.Error(t, command.Wait())

	again := openIn(t, folder)
	for _, id := range made {
		_, err := again.api.V1Customers.Retrieve(t.Context(), id, nil)
		require.NoError(t, err)
	}
	customers := 0
	for _, err := range again.api.V1Customers.List(t.Context(), &stripe.CustomerListParams{}) {
		require.NoError(t, err)
		customers++
	}
	require.Len(t, again.events(), customers, "no change is partial")
}
