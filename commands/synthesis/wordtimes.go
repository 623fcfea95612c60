package synthesis

import "context"

// nameWordTimes draws the id of the word times, if they are to be stored, so that the client learns it before any
// audio.
func (r *Reply) nameWordTimes() (err error) {
	store := r.synthesiser.WordTimes
	if !r.synthesis.StoreTimes || store == nil {
		return nil
	}
	r.wordTimes, err = store.DrawID()
	return err
}

// storeWordTimes begins to store the times of the delivered segments, and returns a function that waits for the end. It
// runs concurrently with the settlement, and continues if the client has disconnected. A failure is logged and does not
// fail the reply: the client has its audio.
func (r *Reply) storeWordTimes(ctx context.Context) (wait func()) {
	if r.wordTimes == "" || len(r.timings) == 0 {
		return func() {}
	}
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleTimeout)
	go func() {
		defer close(done)
		defer cancel()
		if err := r.synthesiser.WordTimes.Put(ctx, r.synthesis.Account, r.wordTimes, r.timings); err != nil {
			r.synthesiser.Logger.ErrorContext(ctx, "word times were not stored", "account", r.synthesis.Account, "error", err)
		}
	}()
	return func() { <-done }
}
