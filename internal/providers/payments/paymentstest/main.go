package paymentstest

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// WithMock runs tests with a stripe-mock in mock, for TestMain.
func WithMock(m goleak.TestingM, mock **Mock) goleak.TestingM { return running{m, mock} }

type running struct {
	goleak.TestingM
	mock **Mock
}

// Run implements goleak.TestingM.
func (r running) Run() int {
	m, err := StartMock()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer m.Stop()
	*r.mock = m
	return r.TestingM.Run()
}
