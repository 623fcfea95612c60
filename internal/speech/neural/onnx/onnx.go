// Package onnx reads the graph of an ONNX model and cuts parts out of it. It needs no ONNX library: a model is a
// protobuf message of which few fields are used, and weights are copied unread.
package onnx

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The field numbers of onnx.proto3 that are used.
const (
	modelGraph     = 7
	modelOpset     = 8
	modelTraining  = 20
	modelFunctions = 25

	opsetDomain  = 1
	opsetVersion = 2

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

// Limits of a graph. A voice has thousands of nodes and some hundred weights.
const (
	maxNodes  = 100_000
	maxTensor = 100_000
)

// Graph is a model whose graph can be cut. It refers to the bytes of the file.
type Graph struct {
	// Opset is the version of ONNX's own operators.
	Opset   int64
	Nodes   []Node
	Inputs  []string
	Outputs []string

	model        []field // all fields but the graph
	other        []field // the graph's fields that are not listed below
	inputs       []field
	outputs      []field
	initializers map[string]field
	weights      []string       // names of the initializers in the order of the file
	producers    map[string]int // by output
	consumers    map[string][]int
}

// Node is one operation of a graph.
type Node struct {
	Operator string
	Inputs   []string // "" for an input that is left out
	Outputs  []string

	raw        field
	attributes []field
}

// field is a field of a protobuf message.
type field struct {
	number  protowire.Number
	raw     []byte // including the tag
	content []byte // the value of a bytes field
	varint  uint64
}

// Parse parses a model. It refuses files that are not models, and models that read files or run other code: tensors
// outside of the file, operators outside of ONNX's domain, functions, and graphs within nodes.
func Parse(file []byte) (*Graph, error) {
	g := &Graph{initializers: map[string]field{}, producers: map[string]int{}, consumers: map[string][]int{}}
	model, err := fieldsOf(file)
	if err != nil {
		return nil, fmt.Errorf("reading a model: %w", err)
	}
	var graph []byte
	for _, f := range model {
		switch f.number {
		case modelGraph:
			if graph != nil {
				return nil, errors.New("reading a model: it has two graphs")
			}
			graph = f.content
			continue
		case modelTraining, modelFunctions:
			return nil, errors.New("reading a model: it has functions or graphs of its own, which are not supported")
		case modelOpset:
			if err := g.readOpset(f.content); err != nil {
				return nil, err
			}
		}
		g.model = append(g.model, f)
	}
	if graph == nil || g.Opset == 0 {
		return nil, errors.New("reading a model: this is not an ONNX model")
	}
	if err := g.readGraph(graph); err != nil {
		return nil, fmt.Errorf("reading a model's graph: %w", err)
	}
	return g, nil
}

func (g *Graph) readOpset(message []byte) error {
	fields, err := fieldsOf(message)
	if err != nil {
		return fmt.Errorf("reading a model's operators: %w", err)
	}
	domain, version := "", int64(0)
	for _, f := range fields {
		switch f.number {
		case opsetDomain:
			domain = string(f.content)
		case opsetVersion:
			version = int64(f.varint)
		}
	}
	if domain == "" || domain == "ai.onnx" {
		g.Opset = version
	}
	return nil
}

func (g *Graph) readGraph(message []byte) error {
	fields, err := fieldsOf(message)
	if err != nil {
		return err
	}
	for _, f := range fields {
		switch f.number {
		case graphNode:
			err = g.readNode(f)
		case graphInitializer:
			err = g.readInitializer(f)
		case graphInput:
			g.Inputs, g.inputs = append(g.Inputs, nameOf(f, valueName)), append(g.inputs, f)
		case graphOutput:
			g.Outputs, g.outputs = append(g.Outputs, nameOf(f, valueName)), append(g.outputs, f)
		case graphSparseInitializer:
			err = errors.New("it has sparse weights, which are not supported")
		case graphValueInfo: // of intermediate tensors: optional, and wrong after a cut
		default:
			g.other = append(g.other, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *Graph) readNode(f field) error {
	if len(g.Nodes) == maxNodes {
		return errors.New("it has too many nodes")
	}
	node, err := parseNode(f)
	if err != nil {
		return err
	}
	index := len(g.Nodes)
	for _, output := range node.Outputs {
		if _, twice := g.producers[output]; twice {
			return errors.New("two nodes have one output")
		}
		if output != "" {
			g.producers[output] = index
		}
	}
	for _, input := range node.Inputs {
		g.consumers[input] = append(g.consumers[input], index)
	}
	g.Nodes = append(g.Nodes, node)
	return nil
}

func parseNode(f field) (Node, error) {
	fields, err := fieldsOf(f.content)
	if err != nil {
		return Node{}, err
	}
	node, domain := Node{raw: f}, ""
	for _, f := range fields {
		switch f.number {
		case nodeInput:
			node.Inputs = append(node.Inputs, string(f.content))
		case nodeOutput:
			node.Outputs = append(node.Outputs, string(f.content))
		case nodeOperator:
			node.Operator = string(f.content)
		case nodeAttribute:
			node.attributes = append(node.attributes, f)
			if err := checkAttribute(f); err != nil {
				return Node{}, err
			}
		case nodeDomain:
			domain = string(f.content)
		}
	}
	return node, checkDomain(domain, node.Operator)
}

// runtimeOperators are the allowed operators of ONNX Runtime's own domain, each of which fuses several of ONNX's
// operators. They only compute.
var runtimeOperators = []string{"DynamicQuantizeLSTM", "FastGelu", "FusedMatMul", "SkipLayerNormalization"}

func checkDomain(domain, operator string) error {
	if domain == "" || domain == "ai.onnx" || domain == "com.microsoft" && slices.Contains(runtimeOperators, operator) {
		return nil
	}
	return errors.New("it has operators that are not ONNX's own")
}

func checkAttribute(f field) error {
	if hasAny(f, attributeGraph, attributeGraphs) {
		return errors.New("a node has a graph of its own, which is not supported")
	}
	if hasAny(f, attributeTensors, attributeSparse, attributeSparses) {
		return errors.New("a node has lists of tensors or sparse ones, which are not supported")
	}
	fields, _ := fieldsOf(f.content)
	for _, f := range fields {
		if f.number == attributeTensor && hasAny(f, tensorExternalData, tensorLocation) {
			return errExternal
		}
	}
	return nil
}

var errExternal = errors.New("its weights are in other files")

func (g *Graph) readInitializer(f field) error {
	if len(g.initializers) == maxTensor {
		return errors.New("it has too many weights")
	}
	if hasAny(f, tensorExternalData, tensorLocation) {
		return errExternal
	}
	name := nameOf(f, tensorName)
	if g.IsWeight(name) {
		return errors.New("two weights have one name")
	}
	g.initializers[name], g.weights = f, append(g.weights, name)
	return nil
}

// Producer returns the node with this output.
func (g *Graph) Producer(output string) (Node, bool) {
	i, found := g.producers[output]
	if !found {
		return Node{}, false
	}
	return g.Nodes[i], true
}

// Consumers returns the nodes with this input.
func (g *Graph) Consumers(input string) []Node {
	var nodes []Node
	for _, i := range g.consumers[input] {
		nodes = append(nodes, g.Nodes[i])
	}
	return nodes
}

// IsWeight reports whether name is the name of a weight.
func (g *Graph) IsWeight(name string) bool {
	_, found := g.initializers[name]
	return found
}

// With returns the nodes with this operator.
func (g *Graph) With(operator string) []Node {
	return slices.DeleteFunc(slices.Clone(g.Nodes), func(n Node) bool { return n.Operator != operator })
}

// Ints returns the integers of an attribute, or nil if the node has no such attribute.
func (n Node) Ints(name string) []int64 {
	for _, a := range n.attributes {
		if nameOf(a, attributeName) != name {
			continue
		}
		fields, err := fieldsOf(a.content)
		if err != nil {
			return nil
		}
		return intsOf(fields, attributeInts)
	}
	return nil
}

func intsOf(fields []field, number protowire.Number) (values []int64) {
	for _, f := range fields {
		if f.number != number {
			continue
		}
		if f.content == nil {
			values = append(values, int64(f.varint))
		}
		for rest := f.content; len(rest) > 0; {
			value, n := protowire.ConsumeVarint(rest)
			if n < 0 {
				return nil
			}
			values, rest = append(values, int64(value)), rest[n:]
		}
	}
	return values
}

// fieldsOf returns the fields of a message.
func fieldsOf(message []byte) ([]field, error) {
	var fields []field
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, errors.New("the message is damaged")
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return nil, errors.New("the message is damaged")
		}
		f := field{number: number, raw: message[:n+size]}
		switch kind {
		case protowire.BytesType:
			f.content, _ = protowire.ConsumeBytes(message[n:])
		case protowire.VarintType:
			f.varint, _ = protowire.ConsumeVarint(message[n:])
		}
		fields, message = append(fields, f), message[n+size:]
	}
	return fields, nil
}

// nameOf returns a string field of the message in f.
func nameOf(f field, number protowire.Number) (name string) {
	fields, err := fieldsOf(f.content)
	if err != nil {
		return ""
	}
	for _, f := range fields {
		if f.number == number {
			name = string(f.content)
		}
	}
	return name
}

func hasAny(f field, numbers ...protowire.Number) bool {
	fields, err := fieldsOf(f.content)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(fields, func(f field) bool {
		return slices.Contains(numbers, f.number) && (len(f.content) > 0 || f.varint != 0)
	})
}
