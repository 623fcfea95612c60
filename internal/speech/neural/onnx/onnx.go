// Package onnx reads the graph of an ONNX model and cuts parts out of it. It needs no ONNX library: a model is a
// protobuf message of which few fields are used, and weights are copied unread.
package onnx

import (
	"errors"
	"fmt"
	"slices"
)

// The field numbers of onnx.proto3 that are used.
const (
	modelGraph     = 7
	modelTraining  = 20
	modelFunctions = 25

	graphNode              = 1
	graphInitializer       = 5
	graphInput             = 11
	graphOutput            = 12
	graphValueInfo         = 13
	graphSparseInitializer = 15

	nodeInput     = 1
	nodeOutput    = 2
	nodeOperator  = 4
	nodeAttribute = 5
	nodeDomain    = 7

	attributeName    = 1
	attributeTensor  = 5
	attributeGraph   = 6
	attributeInts    = 8
	attributeTensors = 10
	attributeGraphs  = 11
	attributeSparse  = 22
	attributeSparses = 23

	tensorDimensions   = 1
	tensorName         = 8
	tensorExternalData = 13
	tensorLocation     = 14

	valueName = 1
)

// Graph is a model whose graph can be cut. It refers to the bytes of the file.
type Graph struct {
	Nodes   []Node
	Inputs  []string
	Outputs []string

	file      []byte
	model     [][]byte // the fields of the model but the graph
	other     [][]byte // the fields of the graph that are not listed below
	weights   map[string]encoded
	producers map[string]int // by output
	consumers map[string][]int
}

// Node is one operation of a graph.
type Node struct {
	Operator string
	Inputs   []string // "" for an input that is left out
	Outputs  []string

	encoded
	attributes []message
}

// encoded is a field of the graph, and its message.
type encoded struct {
	raw    []byte
	fields message
}

// Parse parses a model. It refuses files that are not models, and models that read files or run other code: tensors
// outside of the file, operators outside of ONNX's domain, functions, and graphs within nodes.
func Parse(file []byte) (*Graph, error) {
	model, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("reading a model: %w", err)
	}
	if model.has(modelTraining, modelFunctions) {
		return nil, errors.New("reading a model: it has functions or graphs of its own, which are not supported")
	}
	g := &Graph{
		file: file, model: model.without(modelGraph), weights: map[string]encoded{},
		producers: map[string]int{}, consumers: map[string][]int{},
	}
	graphs := model.all(modelGraph)
	switch len(graphs) {
	case 0:
		return nil, errors.New("reading a model: this is not an ONNX model")
	case 1:
	default:
		return nil, errors.New("reading a model: it has two graphs")
	}
	if err := g.read(graphs[0]); err != nil {
		return nil, fmt.Errorf("reading a model's graph: %w", err)
	}
	return g, nil
}

func (g *Graph) read(content []byte) error {
	fields, err := parse(content)
	if err != nil {
		return err
	}
	if fields.has(graphSparseInitializer) {
		return errors.New("it has sparse weights, which are not supported")
	}
	for _, f := range fields {
		switch f.number {
		case graphNode, graphInitializer, graphInput, graphOutput:
			m, err := parse(f.content)
			if err == nil {
				err = g.add(f, m)
			}
			if err != nil {
				return err
			}
		case graphValueInfo: // of intermediate tensors: optional, and wrong after a cut
		default:
			g.other = append(g.other, f.raw)
		}
	}
	return nil
}

func (g *Graph) add(f field, m message) error {
	switch f.number {
	case graphNode:
		return g.addNode(encoded{f.raw, m})
	case graphInitializer:
		return g.addWeight(encoded{f.raw, m})
	case graphInput:
		g.Inputs = append(g.Inputs, m.text(valueName))
	case graphOutput:
		g.Outputs = append(g.Outputs, m.text(valueName))
	}
	return nil
}

func (g *Graph) addNode(e encoded) error {
	node := Node{
		Operator: e.fields.text(nodeOperator), Inputs: e.fields.texts(nodeInput), Outputs: e.fields.texts(nodeOutput),
		encoded: e,
	}
	if !isKnown(e.fields.text(nodeDomain), node.Operator) {
		return errors.New("it has operators that are not ONNX's own")
	}
	if err := node.readAttributes(); err != nil {
		return err
	}
	for _, output := range node.Outputs {
		if _, twice := g.producers[output]; twice {
			return errors.New("two nodes have one output")
		}
		if output != "" {
			g.producers[output] = len(g.Nodes)
		}
	}
	for _, input := range node.Inputs {
		g.consumers[input] = append(g.consumers[input], len(g.Nodes))
	}
	g.Nodes = append(g.Nodes, node)
	return nil
}

// runtimeOperators are the allowed operators of ONNX Runtime's own domain, each of which fuses several of ONNX's
// operators. They only compute.
var runtimeOperators = []string{"DynamicQuantizeLSTM", "FastGelu", "FusedMatMul", "SkipLayerNormalization"}

func isKnown(domain, operator string) bool {
	return domain == "" || domain == "ai.onnx" || domain == "com.microsoft" && slices.Contains(runtimeOperators, operator)
}

func (n *Node) readAttributes() error {
	for _, content := range n.fields.all(nodeAttribute) {
		attribute, err := parse(content)
		if err != nil {
			return err
		}
		if err := checkAttribute(attribute); err != nil {
			return err
		}
		n.attributes = append(n.attributes, attribute)
	}
	return nil
}

func checkAttribute(attribute message) error {
	if attribute.has(attributeGraph, attributeGraphs) {
		return errors.New("a node has a graph of its own, which is not supported")
	}
	if attribute.has(attributeTensors, attributeSparse, attributeSparses) {
		return errors.New("a node has lists of tensors or sparse ones, which are not supported")
	}
	for _, content := range attribute.all(attributeTensor) {
		tensor, err := parse(content)
		if err != nil || tensor.has(tensorExternalData, tensorLocation) {
			return errExternal
		}
	}
	return nil
}

var errExternal = errors.New("its weights are in other files")

func (g *Graph) addWeight(e encoded) error {
	name := e.fields.text(tensorName)
	switch {
	case e.fields.has(tensorExternalData, tensorLocation):
		return errExternal
	case g.IsWeight(name):
		return errors.New("two weights have one name")
	}
	g.weights[name] = e
	return nil
}

// Producer returns the node with this output. It has no operator if there is none.
func (g *Graph) Producer(output string) Node {
	i, found := g.producers[output]
	if !found {
		return Node{}
	}
	return g.Nodes[i]
}

// Consumers returns the nodes with this input.
func (g *Graph) Consumers(input string) (nodes []Node) {
	for _, i := range g.consumers[input] {
		nodes = append(nodes, g.Nodes[i])
	}
	return nodes
}

// IsWeight reports whether name is the name of a weight.
func (g *Graph) IsWeight(name string) bool {
	_, found := g.weights[name]
	return found
}

// With returns the nodes with this operator.
func (g *Graph) With(operator string) []Node {
	return slices.DeleteFunc(slices.Clone(g.Nodes), func(n Node) bool { return n.Operator != operator })
}

// Ints returns the integers of an attribute, or nil if the node has no such attribute.
func (n Node) Ints(name string) []int64 {
	for _, a := range n.attributes {
		if a.text(attributeName) == name {
			return a.ints(attributeInts)
		}
	}
	return nil
}
