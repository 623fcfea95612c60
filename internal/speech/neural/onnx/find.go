package onnx

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Part is a model with the names of its inputs and outputs.
type Part struct {
	Model           []byte
	Inputs, Outputs []string
}

// Part cuts a part out of the graph. It returns an error if the part needs other inputs or is not deterministic.
func (g *Graph) Part(inputs, outputs []Value) (Part, error) {
	given := map[string]bool{}
	for _, v := range inputs {
		given[v.Name] = true
	}
	nodes, used, err := g.needed(given, namesOf(outputs))
	if err != nil {
		return Part{}, fmt.Errorf("cutting a model: %w", err)
	}
	for _, name := range g.Inputs {
		if used[name] && !given[name] && !g.IsWeight(name) {
			return Part{}, fmt.Errorf("a part of the model needs the input %q", name)
		}
	}
	for _, i := range nodes {
		if IsRandom(g.Nodes[i]) {
			return Part{}, errors.New("the model has sources of noise that are not known")
		}
	}
	model, err := g.Cut(inputs, outputs)
	return Part{Model: model, Inputs: namesOf(inputs), Outputs: namesOf(outputs)}, err
}

// IsRandom reports whether the output of a node is random.
func IsRandom(n Node) bool {
	return strings.HasPrefix(n.Operator, "Random") || n.Operator == "Bernoulli" || n.Operator == "Multinomial"
}

func namesOf(values []Value) (names []string) {
	for _, v := range values {
		names = append(names, v.Name)
	}
	return names
}

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
	n, found := f.First(names, operator)
	if !found {
		f.Miss("a node " + operator)
	}
	return n
}

// First is like Above for several operators, but reports whether there is such a node.
func (f *Finder) First(names []string, operators ...string) (Node, bool) {
	for _, name := range names {
		if n, found := f.Producer(name); found && slices.Contains(operators, n.Operator) {
			return n, true
		}
	}
	return Node{}, false
}

// Below returns the node with this operator that consumes the output of a node.
func (f *Finder) Below(node Node, operator string) Node {
	for _, n := range f.Consumers(node.Output()) {
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
	for _, input := range n.Inputs {
		if input != name {
			return input
		}
	}
	return ""
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
