package payments

import (
	"context"
	"sync"
)

// Caller identifies the account that a request to a provider is for. Adapters share a limited rate among accounts.
type Caller struct {
	Account string // "" for none
	Waiting bool   // a person waits for the answer
}

// operation is one operation of a caller.
type operation struct {
	Caller
	kept sync.Map
}

type operationKey struct{}

// WithCaller returns a context for one operation of a caller. Within it, an adapter may reuse objects that it has read
// or written.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, operationKey{}, &operation{Caller: c})
}

// CallerOf returns the caller of a context, or the zero Caller.
func CallerOf(ctx context.Context) Caller {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return o.Caller
	}
	return Caller{}
}

// Kept returns the adapter's cache for the operation of a context, or nil outside of one.
func Kept(ctx context.Context) *sync.Map {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return &o.kept
	}
	return nil
}
