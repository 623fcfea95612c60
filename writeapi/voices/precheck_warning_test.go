package voices

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/http/web/quota"
	"github.com/recital-tts/recital/internal/speech/precheck"
)

func TestWhyARecordingIsOfNoUseIsAWarning(t *testing.T) {
	for _, warning := range []string{"", "The recording sounds like music, not like speech"} {
		url := servePrecheck(t, quota.New(1, 1), func(context.Context, string) (precheck.Result, error) {
			return precheck.Result{DNSMOS: 1, Warning: warning}, nil
		})
		response, _ := post(t, url, "account-1", []part{file("file", "RIFF")})
		require.Equal(t, 200, response.StatusCode)
		require.Equal(t, warning, response.Header.Get("x-warning"))
	}
}
