package stripe_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/providers/payments/paymentstest"
)

// mock checks requests, for all tests.
var mock *paymentstest.Mock

func TestMain(m *testing.M) { goleak.VerifyTestMain(paymentstest.WithMock(m, &mock)) }
