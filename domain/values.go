package domain

import (
	"maps"
	"slices"
)

// First returns the first element of a list that satisfies a condition, or false.
func First[T any](all []T, is func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return found, false
}

// With returns a copy of a map with a value for a key. Evolve never changes a map, because earlier states share it.
func With[M ~map[K]V, K comparable, V any](all M, key K, value V) M {
	copied := maps.Clone(all)
	if copied == nil {
		copied = M{}
	}
	copied[key] = value
	return copied
}
