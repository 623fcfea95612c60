package onnx

import (
	"maps"
	"slices"
)

// Widen returns a graph in which the nodes between two tensors work on planes with a height of 1, [N, C, 1, T], instead
// of lines, [N, C, T]. ONNX Runtime keeps the channels of planes together, which makes convolutions faster. It returns
// false unless all of the nodes are convolutions or elementwise operations.
func (g *Graph) Widen(input, output string) (wide *Graph, ok bool) {
	nodes, _, err := g.needed([]string{input}, []string{output})
	if err != nil {
		return nil, false
	}
	wide = new(*g)
	wide.Nodes, wide.weights = slices.Clone(g.Nodes), maps.Clone(g.weights)
	for _, i := range nodes {
		if !wide.widen(&wide.Nodes[i], output) {
			return nil, false
		}
	}
	return wide, true
}

// widen widens a node, and reports whether it can be widened.
func (g *Graph) widen(n *Node, output string) bool {
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
func (g *Graph) shape(weight string) []int64 { return g.weights[weight].fields.ints(tensorDimensions) }

// widenWeight widens the weight of a convolution, unless it has several consumers.
func (g *Graph) widenWeight(name string) bool {
	shape := g.shape(name)
	if len(shape) != 3 || len(g.consumers[name]) != 1 {
		return false
	}
	others := g.weights[name].fields.without(tensorDimensions)
	wide := appendInts(nil, tensorDimensions, shape[0], shape[1], 1, shape[2])
	g.weights[name] = encoded{raw: appendMessage(nil, graphInitializer, append(others, wide)...)}
	return true
}

// widen widens the attributes of a convolution.
func (n *Node) widen() bool {
	node := n.fields.without(nodeAttribute)
	for _, attribute := range n.attributes {
		wide, ok := widened(attribute)
		if !ok {
			return false
		}
		node = append(node, wide)
	}
	n.raw = appendMessage(nil, graphNode, node...)
	return true
}

func widened(attribute message) (wide []byte, ok bool) {
	values := attribute.ints(attributeInts)
	switch name := attribute.text(attributeName); {
	case name == "output_shape":
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
	others := attribute.without(attributeInts)
	return appendMessage(nil, nodeAttribute, append(others, appendInts(nil, attributeInts, values...))...), true
}
