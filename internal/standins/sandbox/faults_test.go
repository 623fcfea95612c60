package sandbox_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v84"

	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

// customers returns the number of customers.
func (s *shop) customers() int {
	n := 0
	for _, err := range s.api.V1Customers.List(s.t.Context(), &stripe.CustomerListParams{}) {
		require.NoError(s.t, err)
		n++
	}
	return n
}

func status(t *testing.T, err error) int {
	var refused *stripe.Error
	require.ErrorAs(t, err, &refused)
	return refused.HTTPStatusCode
}

func TestARequestMayFailBeforeItTakesEffect(t *testing.T) {
	for do, code := range map[string]int{sandbox.FaultFail: 500, sandbox.FaultLimit: 429, sandbox.FaultCut: 0} {
		t.Run(do, func(t *testing.T) {
			s := open(t)
			require.NoError(t, s.Faults(sandbox.Fault{Do: do, Method: http.MethodPost, Path: "/v1/customers", Times: 1}))
			require.Zero(t, s.customers(), "reading has no faults")
			_, err := s.named("Ada", "key")
			require.Error(t, err)
			if code != 0 {
				require.Equal(t, code, status(t, err))
			}
			require.Zero(t, s.customers())
			_, err = s.named("Ada", "key")
			require.NoError(t, err, "it was to fail once")
			require.Equal(t, 1, s.customers())
		})
	}
}

func TestARequestMayFailAfterItTookEffect(t *testing.T) {
	t.Run("its connection is cut", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultCut, Committed: true, Method: http.MethodPost, Times: 1}))
		_, err := s.named("Ada", "key")
		require.Error(t, err)
		require.Equal(t, 1, s.customers())
		_, err = s.named("Ada", "key")
		require.NoError(t, err, "a repetition gets the answer that was lost")
		require.Equal(t, 1, s.customers())
	})
	t.Run("it is answered with 500, and so are its repetitions", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultFail, Committed: true, Method: http.MethodPost, Times: 1}))
		for range 2 {
			_, err := s.named("Ada", "key")
			require.Equal(t, 500, status(t, err))
		}
		require.Equal(t, 1, s.customers())
	})
	t.Run("it is not answered", func(t *testing.T) {
		s := open(t)
		require.NoError(t, s.Faults(sandbox.Fault{
			Do: sandbox.FaultHang, Committed: true, Method: http.MethodPost, Times: 1, Delay: standins.Span(time.Millisecond),
		}))
		_, err := s.named("Ada", "key")
		require.Error(t, err)
		require.Equal(t, 1, s.customers())
	})
}

func TestARequestMayTakeLong(t *testing.T) {
	s := open(t)
	const delay = standins.Span(50 * time.Millisecond)
	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultDelay, Times: 1, Delay: delay}))
	began := time.Now()
	s.customer()
	require.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
}

func TestAHangingRequestEndsWithTheFaults(t *testing.T) {
	s := open(t)
	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultHang}))
	failed := make(chan error)
	go func() {
		_, err := s.named("Ada", "key")
		failed <- err
	}()
	require.Eventually(t, func() bool {
		if err := s.Faults(); err != nil {
			return false
		}
		select {
		case err := <-failed:
			return err != nil || s.customers() == 1 // or the request came after the end of the faults
		case <-time.After(10 * time.Millisecond):
			return false
		}
	}, time.Minute, time.Millisecond)
}

func TestConnectionsAreRefusedOnDemand(t *testing.T) {
	s := open(t)
	s.customer()
	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultRefuse}))
	_, err := s.named("Ada", "key")
	require.Error(t, err)
	require.NoError(t, s.Faults())
	require.Equal(t, 1, s.customers())

	require.NoError(t, s.Faults(sandbox.Fault{Do: sandbox.FaultRefuse, Delay: standins.Span(20 * time.Millisecond)}))
	require.Eventually(t, func() bool {
		_, err := s.named("Ada", "key")
		return err == nil
	}, time.Minute, 5*time.Millisecond, "by itself")
}

func TestAnUnknownFaultIsRefused(t *testing.T) {
	require.Error(t, open(t).Faults(sandbox.Fault{Do: "explode"}))
}
