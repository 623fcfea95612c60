package onnx

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Value declares an input or output tensor of a part.
type Value struct {
	name    string
	element uint64 // type of its elements, with ONNX's numbers
}

// Floats returns tensors of real numbers with these names, without the empty names.
func Floats(names ...string) []Value { return values(1, names) }

// Ints returns tensors of whole numbers with these names.
func Ints(names ...string) []Value { return values(7, names) }

func values(element uint64, names []string) (values []Value) {
	for _, name := range names {
		if name != "" {
			values = append(values, Value{name, element})
		}
	}
	return values
}

// Part is a model with the names of its inputs and outputs.
type Part struct {
	Model           []byte
	Inputs, Outputs []string
}

// Part cuts a part out of the graph: a model that computes the outputs from the inputs. It has copies of the necessary
// nodes and weights. It returns an error if the part needs other inputs or is not deterministic.
func (g *Graph) Part(inputs, outputs []Value) (Part, error) {
	part := Part{Inputs: namesOf(inputs), Outputs: namesOf(outputs)}
	nodes, used, err := g.needed(part.Inputs, part.Outputs)
	if err != nil {
		return Part{}, fmt.Errorf("cutting a model: %w", err)
	}
	graph := slices.Clone(g.other)
	for _, i := range nodes {
		if IsRandom(g.Nodes[i]) {
			return Part{}, errors.New("the model has sources of noise that are not known")
		}
		graph = append(graph, g.Nodes[i].raw)
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(part.Inputs, name) {
			graph = append(graph, g.weights[name].raw)
		}
	}
	for _, v := range inputs {
		graph = append(graph, v.encode(graphInput))
	}
	for _, v := range outputs {
		graph = append(graph, v.encode(graphOutput))
	}
	part.Model = appendMessage(slices.Concat(g.model...), modelGraph, graph...)
	return part, nil
}

// Whole returns the uncut model.
func (g *Graph) Whole() Part { return Part{Model: g.file, Inputs: g.Inputs, Outputs: g.Outputs} }

// needed returns the nodes that compute the outputs, in the order of the graph, and the names of all tensors that they
// use. It returns an error if they need other inputs.
func (g *Graph) needed(inputs, outputs []string) (nodes []int, used map[string]bool, err error) {
	used = map[string]bool{}
	taken := map[int]bool{}
	for open := slices.Clone(outputs); len(open) > 0; {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if name == "" || used[name] {
			continue
		}
		used[name] = true
		i, produced := g.producers[name]
		switch {
		case slices.Contains(inputs, name):
		case produced:
			taken[i], open = true, append(open, g.Nodes[i].Inputs...)
		case !g.IsWeight(name):
			return nil, nil, fmt.Errorf("a part of the model needs the input %q", name)
		}
	}
	return slices.Sorted(maps.Keys(taken)), used, nil
}

// IsRandom reports whether the output of a node is random.
func IsRandom(n Node) bool {
	return strings.HasPrefix(n.Operator, "Random") || n.Operator == "Bernoulli" || n.Operator == "Multinomial"
}

func namesOf(values []Value) (names []string) {
	for _, v := range values {
		names = append(names, v.name)
	}
	return names
}

// encode returns a field of the graph with the ValueInfoProto. The tensor's shape is left open.
func (v Value) encode(number protowire.Number) []byte {
	tensor := appendMessage(nil, 1, appendInts(nil, 1, int64(v.element)))
	return appendMessage(nil, number, appendMessage(nil, valueName, []byte(v.name)), appendMessage(nil, 2, tensor))
}
