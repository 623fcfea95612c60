package onnx

import (
	"errors"
	"slices"
)

// Finder looks for nodes in a graph. Missed is the error of the first miss.
type Finder struct {
	*Graph
	Missed error
}

// Only returns the only node with this operator.
func (f *Finder) Only(operator string) Node {
	nodes := f.With(operator)
	if len(nodes) != 1 {
		f.Miss("one node " + operator)
		return Node{}
	}
	return nodes[0]
}

// Above returns the node with this operator that produces one of the tensors.
func (f *Finder) Above(names []string, operator string) Node {
	n := f.First(names, operator)
	if n.Operator == "" {
		f.Miss("a node " + operator)
	}
	return n
}

// First is like Above for several operators, but returns a node without an operator if there is no such node.
func (f *Finder) First(names []string, operators ...string) Node {
	for _, name := range names {
		if n := f.Producer(name); slices.Contains(operators, n.Operator) {
			return n
		}
	}
	return Node{}
}

// Below returns the node with this operator that consumes a tensor.
func (f *Finder) Below(name, operator string) Node {
	for _, n := range f.Consumers(name) {
		if n.Operator == operator {
			return n
		}
	}
	f.Miss("a node " + operator)
	return Node{}
}

// Miss sets Missed, unless it is set.
func (f *Finder) Miss(what string) {
	if f.Missed == nil {
		f.Missed = errors.New("it lacks " + what)
	}
}

// Other returns the input of a binary node that does not have this name.
func (n Node) Other(name string) string {
	return firstOf(slices.DeleteFunc(slices.Clone(n.Inputs), func(input string) bool { return input == name }))
}

// Input returns the first input.
func (n Node) Input() string { return firstOf(n.Inputs) }

// Output returns the first output.
func (n Node) Output() string { return firstOf(n.Outputs) }

func firstOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}
