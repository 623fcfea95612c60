package alignment

import "gonum.org/v1/gonum/mat"

const (
	inputs  = 2*cepstra + 1 // of the map: the features and a constant
	outputs = 2 * cepstra
	folds   = 4     // of the cross-validation
	blocks  = 12    // of frames, which are dealt to the folds in turn: neighbouring frames are alike
	ridge   = 100.0 // the penalty of the map's weights
	fewest  = 50    // frames that a map is fitted to
	enough  = 20000 // the same; of longer recordings, frames are left out evenly
)

// explained returns the share of the variance of a that ridge regression on b explains along a path, by
// cross-validation. It is 0 if the sounds have little speech.
func explained(a, b features, p path) float64 {
	var x, y [folds][]float64 // rows of inputs and outputs
	pairs := p.spoken(a, b)
	if len(pairs) < fewest {
		return 0
	}
	for k, pair := range pairs {
		fold := k * blocks / len(pairs) % folds
		for c := range outputs {
			x[fold] = append(x[fold], float64(b.rows[pair.b][c]))
			y[fold] = append(y[fold], float64(a.rows[pair.a][c]))
		}
		x[fold] = append(x[fold], 1)
	}
	var xx, xy [folds]mat.Dense
	var allXX, allXY mat.Dense
	allXX.ReuseAs(inputs, inputs)
	allXY.ReuseAs(inputs, outputs)
	for f := range folds {
		in, out := mat.NewDense(len(x[f])/inputs, inputs, x[f]), mat.NewDense(len(y[f])/outputs, outputs, y[f])
		xx[f].Mul(in.T(), in)
		xy[f].Mul(in.T(), out)
		allXX.Add(&allXX, &xx[f])
		allXY.Add(&allXY, &xy[f])
	}
	left, total := 0.0, 0.0
	for f := range folds {
		var weights, predicted mat.Dense
		xx[f].Sub(&allXX, &xx[f])
		xy[f].Sub(&allXY, &xy[f])
		for c := range outputs {
			xx[f].Set(c, c, xx[f].At(c, c)+ridge)
		}
		if weights.Solve(&xx[f], &xy[f]) != nil {
			return 0
		}
		in, out := mat.NewDense(len(x[f])/inputs, inputs, x[f]), mat.NewDense(len(y[f])/outputs, outputs, y[f])
		predicted.Mul(in, &weights)
		predicted.Sub(out, &predicted)
		left += squares(&predicted)
		for c := range outputs { // the constant's products are sums
			mean := allXY.At(outputs, c) / float64(len(pairs))
			for r := range out.RawMatrix().Rows {
				out.Set(r, c, out.At(r, c)-mean)
			}
		}
		total += squares(out)
	}
	if total == 0 {
		return 0
	}
	return 1 - left/total
}

func squares(m *mat.Dense) float64 {
	norm := mat.Norm(m, 2)
	return norm * norm
}

// pair is a frame of each sound.
type pair struct{ a, b int }

// spoken returns the pairs of frames along a path in which both sounds have speech, or an even share of them.
func (p path) spoken(a, b features) (pairs []pair) {
	for j := 0; j < len(p.first); j += 1 + len(p.first)/enough {
		for i := p.first[j]; i <= p.last[j] && !b.silent[j]; i++ {
			if !a.silent[i] {
				pairs = append(pairs, pair{i, j})
			}
		}
	}
	return pairs
}
