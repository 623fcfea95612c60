package onnx_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/recital-tts/recital/internal/speech/neural/neuraltest"
	"github.com/recital-tts/recital/internal/speech/neural/onnx"
)

func message(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func TestAPartHasWhatItNeeds(t *testing.T) {
	g, err := onnx.Parse(neuraltest.Toy())
	require.NoError(t, err)
	part, err := g.Part(onnx.Floats("latent"), onnx.Floats("output"))
	require.NoError(t, err)
	cut, err := onnx.Parse(part.Model)
	require.NoError(t, err)
	require.Equal(t, []string{"latent"}, cut.Inputs)
	require.Equal(t, []string{"output"}, cut.Outputs)
	require.True(t, cut.IsWeight("pre.weight"))
	require.False(t, cut.IsWeight("flow.weight"))
	require.Len(t, cut.With("ConvTranspose"), 2)

	_, err = g.Part(nil, onnx.Floats("nothing of the graph"))
	require.Error(t, err)
}

func TestLinesBecomePlanes(t *testing.T) {
	g, err := onnx.Parse(neuraltest.Toy())
	require.NoError(t, err)
	wide, ok := g.Widen("latent", "output")
	require.True(t, ok)
	part, err := wide.Part(onnx.Floats("latent"), onnx.Floats("output"))
	require.NoError(t, err)
	cut, err := onnx.Parse(part.Model)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 8}, cut.With("ConvTranspose")[0].Ints("strides"))
	require.Equal(t, []int64{0, 3, 0, 3}, cut.With("Conv")[0].Ints("pads"))
	require.Equal(t, []int64{3, 3}, g.With("Conv")[3].Ints("pads"), "the graph itself stays as it was")

	for _, output := range []string{"frames", "mask", "latent.prior"} { // with other operators, and with none
		_, ok = g.Widen("input", output)
		require.False(t, ok, output)
	}
	_, ok = g.Widen("latent", "nothing of the graph")
	require.False(t, ok)
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	toy := neuraltest.Toy()
	const graph, initializer, node, attribute = 7, 5, 1, 5
	tensor := func(fields ...[]byte) []byte {
		return message(graph, message(initializer, bytes.Join(fields, nil)))
	}
	opset := message(8, protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 15))
	for name, file := range map[string][]byte{
		"nothing":       nil,
		"text":          []byte("this is not a model"),
		"no graph":      opset,
		"cut off":       toy[:len(toy)-1],
		"two graphs":    append(bytes.Clone(toy), message(graph, nil)...),
		"external data": append(bytes.Clone(opset), tensor(message(8, []byte("w")), message(13, []byte("x")))...),
		"a graph within a node": append(bytes.Clone(opset), message(graph, message(node, message(attribute,
			message(6, []byte("x")))))...),
		"an operator of others": append(bytes.Clone(opset), message(graph, message(node, message(7, []byte("com.evil"))))...),
		"functions":             append(bytes.Clone(toy), message(25, message(1, []byte("Ceil")))...),
		"graphs for training":   append(bytes.Clone(toy), message(20, []byte("x"))...),
		"external data of a node": append(bytes.Clone(opset), message(graph, message(node, message(attribute,
			message(5, message(13, []byte("x"))))))...),
		"external data of a node's list": append(bytes.Clone(opset), message(graph, message(node, message(attribute,
			message(10, message(13, []byte("x"))))))...),
		"sparse data of a node": append(bytes.Clone(opset), message(graph, message(node, message(attribute,
			message(22, message(1, []byte("x"))))))...),
	} {
		_, err := onnx.Parse(file)
		require.Error(t, err, name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(neuraltest.Toy())
	f.Fuzz(func(t *testing.T, file []byte) {
		g, err := onnx.Parse(file)
		if err != nil {
			return
		}
		for _, output := range g.Outputs {
			_, _ = g.Part(nil, onnx.Floats(output))
			for _, input := range g.Inputs {
				_, _ = g.Widen(input, output)
			}
		}
	})
}
