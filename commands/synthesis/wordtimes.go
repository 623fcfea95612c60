package synthesis

import "context"

// nameWordTimes draws the id of the word times, if they are to be stored: the client learns it before there is any
// audio.
func (r *Reply) nameWordTimes() (err error) {
	shelf := r.synthesiser.WordTimes
	if !r.synthesis.KeepTimes || shelf == nil {
		return nil
	}
	r.wordTimes, err = shelf.DrawID()
	return err
}

// keepWordTimes begins to store the times of the segments that were delivered, and returns a function that waits
// until that is done. It runs concurrently with the settlement, and continues if the client has disconnected. Times
// that cannot be stored are logged and do not fail the reply: the client has its audio.
func (r *Reply) keepWordTimes(ctx context.Context) (wait func()) {
	if r.wordTimes == "" || len(r.timings) == 0 {
		return func() {}
	}
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTimeout)
	go func() {
		defer close(done)
		defer cancel()
		if err := r.synthesiser.WordTimes.Put(ctx, r.synthesis.Account, r.wordTimes, r.timings); err != nil {
			r.synthesiser.Logger.ErrorContext(ctx, "word times were not kept", "account", r.synthesis.Account, "error", err)
		}
	}()
	return func() { <-done }
}
