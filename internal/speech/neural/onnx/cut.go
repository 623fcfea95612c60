package onnx

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Element is the type of a tensor's elements, with ONNX's numbers.
type Element uint64

// The types of the tensors between parts.
const (
	Float Element = 1
	Int64 Element = 7
)

// Value declares an input or output tensor of a part.
type Value struct {
	Name    string
	Element Element
	Rank    int // number of dimensions, each of any size, or AnyRank
}

// AnyRank leaves the number of dimensions open.
const AnyRank = -1

// Cut returns a model that computes the outputs from the inputs. It has copies of the necessary nodes and weights.
// Inputs of the whole graph that are also needed remain inputs.
func (g *Graph) Cut(inputs, outputs []Value) ([]byte, error) {
	given := map[string]bool{}
	for _, v := range inputs {
		given[v.Name] = true
	}
	var names []string
	for _, v := range outputs {
		names = append(names, v.Name)
	}
	nodes, used, err := g.needed(given, names)
	if err != nil {
		return nil, fmt.Errorf("cutting a model: %w", err)
	}
	var graph []byte
	for _, i := range nodes {
		graph = append(graph, g.Nodes[i].raw.raw...)
	}
	for _, f := range g.other {
		graph = append(graph, f.raw...)
	}
	for _, name := range g.weights {
		if used[name] && !given[name] {
			graph = append(graph, g.initializers[name].raw...)
		}
	}
	for i, name := range g.Inputs {
		if used[name] && !given[name] && !g.IsWeight(name) {
			graph = append(graph, g.inputs[i].raw...)
		}
	}
	for _, v := range inputs {
		graph = appendMessage(graph, graphInput, v.encode())
	}
	for _, v := range outputs {
		graph = appendMessage(graph, graphOutput, v.encode())
	}
	var model []byte
	for _, f := range g.model {
		model = append(model, f.raw...)
	}
	return appendMessage(model, modelGraph, graph), nil
}

// needed returns the nodes that compute the outputs, in the order of the graph, and the names of all tensors that they
// use.
func (g *Graph) needed(given map[string]bool, outputs []string) (nodes []int, used map[string]bool, err error) {
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
		case given[name]:
		case produced && !taken[i]:
			taken[i] = true
			nodes = append(nodes, i)
			open = append(open, g.Nodes[i].Inputs...)
		case !produced && !g.IsWeight(name) && !slices.Contains(g.Inputs, name):
			return nil, nil, fmt.Errorf("the tensor %q has no producer", name)
		}
	}
	slices.Sort(nodes)
	return nodes, used, nil
}

// encode returns the ValueInfoProto.
func (v Value) encode() []byte {
	var shape []byte
	for range max(v.Rank, 0) {
		shape = appendMessage(shape, 1, nil) // a dimension of any size
	}
	tensor := protowire.AppendTag(nil, 1, protowire.VarintType)
	tensor = protowire.AppendVarint(tensor, uint64(v.Element))
	if v.Rank != AnyRank {
		tensor = appendMessage(tensor, 2, shape)
	}
	info := protowire.AppendTag(nil, valueName, protowire.BytesType)
	info = protowire.AppendString(info, v.Name)
	return appendMessage(info, 2, appendMessage(nil, 1, tensor))
}

func appendMessage(to []byte, number protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), message)
}
