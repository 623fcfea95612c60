package main

import (
	"path"
	"slices"
)

// pair adds the time of a sub-benchmark "bare" to those of its siblings.
func pair(results []result) []result {
	for i := range results {
		bare := slices.IndexFunc(results, results[i].isBareOf)
		if bare < 0 || results[i].failed || results[bare].failed {
			continue
		}
		ours, its := results[i].values, results[bare].values
		ours["bare-ns/op"], ours["ratio-ns/op"] = its["ns/op"], ours["ns/op"]/its["ns/op"]
	}
	return slices.DeleteFunc(slices.Clone(results), func(r result) bool {
		return !r.failed && path.Base(r.name) == "bare"
	})
}

// isBareOf reports whether r is the baseline of other.
func (r result) isBareOf(other result) bool {
	parent, name := path.Split(r.name)
	return parent != "" && name != "bare" && other.folder == r.folder && other.name == parent+"bare"
}
