package payments

import (
	"context"
	"sync"
)

// Caller says for whom a provider is asked. Adapters that must make requests wait share what there is among accounts.
type Caller struct {
	Account string // "" for none
	Waiting bool   // a person waits for the answer
}

// operation is what one caller does under a context.
type operation struct {
	Caller
	kept sync.Map
}

type operationKey struct{}

// WithCaller returns a context for one operation of a caller. What a change in it has to know may be answered by what
// was read or written before in the same operation.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, operationKey{}, &operation{Caller: c})
}

// CallerOf returns the caller of a context, the zero Caller if it has none.
func CallerOf(ctx context.Context) Caller {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return o.Caller
	}
	return Caller{}
}

// Kept returns what an adapter keeps for the operation of a context, nil outside of one.
func Kept(ctx context.Context) *sync.Map {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return &o.kept
	}
	return nil
}
