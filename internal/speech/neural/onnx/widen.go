package onnx

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Widen returns a graph in which the nodes between two tensors work on planes with a height of 1, [N, C, 1, T], instead
// of lines, [N, C, T]. ONNX Runtime keeps the channels of planes together, which makes convolutions faster. It returns
// false unless all of the nodes are convolutions or elementwise operations.
func (g *Graph) Widen(input, output string) (wide *Graph, ok bool) {
	nodes, _, err := g.needed(map[string]bool{input: true}, []string{output})
	if err != nil {
		return nil, false
	}
	wide = new(*g)
	wide.Nodes, wide.initializers = slices.Clone(g.Nodes), maps.Clone(g.initializers)
	for _, i := range nodes {
		if !wide.widen(i, output) {
			return nil, false
		}
	}
	return wide, true
}

// widen widens a node, and reports whether it can be widened.
func (g *Graph) widen(node int, output string) bool {
	n := &g.Nodes[node]
	switch n.Operator {
	case "Conv", "ConvTranspose":
		return len(n.Inputs) > 1 && g.widenWeight(n.Inputs[1]) && n.widen()
	case "Add", "Div", "LeakyRelu", "Mul", "Tanh":
		return !slices.ContainsFunc(n.Inputs, func(name string) bool { return len(g.shape(name)) > 0 })
	case "Unsqueeze": // the number of dimensions after it does not matter at the output
		return n.Output() == output
	}
	return false
}

// shape returns the shape of a weight.
func (g *Graph) shape(weight string) []int64 {
	fields, err := fieldsOf(g.initializers[weight].content)
	if err != nil {
		return nil
	}
	return intsOf(fields, tensorDimensions)
}

// widenWeight widens the weight of a convolution, unless it has several consumers.
func (g *Graph) widenWeight(name string) bool {
	shape := g.shape(name)
	fields, err := fieldsOf(g.initializers[name].content)
	if len(shape) != 3 || len(g.consumers[name]) != 1 || err != nil {
		return false
	}
	tensor := appendInts(nil, tensorDimensions, shape[0], shape[1], 1, shape[2])
	for _, f := range fields {
		if f.number != tensorDimensions {
			tensor = append(tensor, f.raw...)
		}
	}
	g.initializers[name] = field{
		number: graphInitializer, raw: appendMessage(nil, graphInitializer, tensor), content: tensor,
	}
	return true
}

// widen widens the attributes of a convolution.
func (n *Node) widen() bool {
	fields, err := fieldsOf(n.raw.content)
	if err != nil {
		return false
	}
	var node []byte
	for _, f := range fields {
		attribute, ok := f.raw, true
		if f.number == nodeAttribute {
			attribute, ok = widenAttribute(f)
		}
		if !ok {
			return false
		}
		node = append(node, attribute...)
	}
	n.raw = field{number: graphNode, raw: appendMessage(nil, graphNode, node), content: node}
	return true
}

func widenAttribute(f field) (attribute []byte, ok bool) {
	fields, err := fieldsOf(f.content)
	values := intsOf(fields, attributeInts)
	switch name := nameOf(f, attributeName); {
	case err != nil || name == "output_shape":
		return nil, false
	case name == "pads" && len(values) == 2:
		values = []int64{0, values[0], 0, values[1]}
	case name == "output_padding" && len(values) == 1:
		values = []int64{0, values[0]}
	case len(values) == 1: // kernel_shape, strides, and dilations
		values = []int64{1, values[0]}
	case len(values) > 0:
		return nil, false
	}
	for _, f := range fields {
		if f.number != attributeInts {
			attribute = append(attribute, f.raw...)
		}
	}
	return appendMessage(nil, nodeAttribute, appendInts(attribute, attributeInts, values...)), true
}

func appendInts(to []byte, number protowire.Number, values ...int64) []byte {
	for _, v := range values {
		to = protowire.AppendVarint(protowire.AppendTag(to, number, protowire.VarintType), uint64(v))
	}
	return to
}
