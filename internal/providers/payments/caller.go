package payments

import "context"

// Caller says for whom a provider is asked. Adapters that must make requests wait share what there is among accounts.
type Caller struct {
	Account string // "" for none
	Waiting bool   // a person waits for the answer
}

type callerKey struct{}

// WithCaller returns a context in which the provider is asked for a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a context, the zero Caller if it has none.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
