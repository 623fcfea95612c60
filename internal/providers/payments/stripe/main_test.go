package stripe_test

import (
	"testing"

	"go.uber.org/goleak"
)

// mock checks requests, for all tests.
var mock *requestChecker

func TestMain(m *testing.M) { goleak.VerifyTestMain(withMock(m, &mock)) }
