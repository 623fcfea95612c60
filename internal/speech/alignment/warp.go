package alignment

import "math"

const (
	// coarsening is the number of frames that the first pass combines into one.
	coarsening = 8
	// corridor is the maximum distance of the second pass from the first, in frames.
	corridor = 6 * coarsening
	// wholeFrames is the number of frames up to which one pass compares every pair.
	wholeFrames = 1500
	stretching  = 0.1 // the cost of a step that stays in one of the sounds, in multiples of the mean distance
)

// The silence model, weighted by the clarity of the recording.
const (
	silenceCost = 0.5 // silence against speech, in multiples of the mean distance
	silentPair  = 0.7 // ignored share of the distance of two silences, which differ only by noise
)

// path is a warping path: the frames of the recording (a) that belong to each frame of the reference (b).
type path struct {
	first, last []int     // frames of a, for each of b
	cost        []float64 // mean distance, for each of b
	typical     float64   // mean distance of unrelated frames
	rough       *path     // the coarse path; nil if every pair of frames was compared
}

// align warps b onto a. Long sounds are warped coarsely first, and then within a corridor around the coarse path
// (Salvador and Chan, 2007), so that memory and time grow little faster than the length.
func align(a, b features) path {
	if max(a.frames(), b.frames()) <= wholeFrames {
		return warp(a, b, nil)
	}
	rough := warp(a.coarser(coarsening), b.coarser(coarsening), nil)
	fine := warp(a, b, &rough)
	fine.rough = &rough
	return fine
}

// coarser returns the means of groups of frames.
func (f features) coarser(size int) (rough features) {
	rough.contrast = f.contrast
	for from := 0; from < len(f.rows); from += size {
		group := f.rows[from:min(from+size, len(f.rows))]
		var mean row
		quiet := 0
		for i := range group {
			for c, value := range group[i] {
				mean[c] += value / float32(len(group))
			}
			if f.silent[from+i] {
				quiet++
			}
		}
		rough.rows = append(rough.rows, mean)
		rough.silent = append(rough.silent, 2*quiet > len(group))
	}
	return rough
}

// columns returns the range of frames of a that are compared with frame j of b: those near a coarser path, or all if
// that is nil.
func (p *path) columns(j, columns int) (from, to int) {
	if p == nil {
		return 0, columns
	}
	rough := min(j/coarsening, len(p.first)-1)
	from, to = p.first[rough]*coarsening-corridor, (p.last[rough]+1)*coarsening+corridor
	return min(max(from, 0), columns-1), min(max(to, 1), columns)
}

// The steps that lead to a pair of frames.
const (
	both byte = iota // from the frame before in both sounds
	onlyA
	onlyB
)

// warp finds the cheapest path from the first frames to the last, near a coarser path unless that is nil.
func warp(a, b features, around *path) path {
	w := warping{a: a, b: b, trust: float32(a.clarity())}
	w.mean = w.meanDistance()
	rows, columns := b.frames(), a.frames()
	steps := make([][]byte, rows)
	froms := make([]int, rows)
	var before []float32
	beforeFrom := 0
	for j := range rows {
		from, to := around.columns(j, columns)
		if j > 0 {
			from = max(from, beforeFrom)
			to = max(to, beforeFrom+len(before))
			from = min(from, beforeFrom+len(before)-1)
		}
		if j == 0 {
			from = 0
		}
		if j == rows-1 {
			to = columns
		}
		costs, taken := w.row(j, from, to, before, beforeFrom)
		steps[j], froms[j] = taken, from
		before, beforeFrom = costs, from
	}
	return w.trace(steps, froms)
}

type warping struct {
	a, b  features
	mean  float32 // distance
	trust float32 // in the silences, 0 to 1
}

// distance is Euclidean, with an extra cost between silence and speech.
func (w *warping) distance(i, j int) float32 {
	x, y := &w.a.rows[i], &w.b.rows[j]
	sum, slopes := float32(0), float32(0) // two independent sums run in parallel
	for c := range cepstra {
		d, s := x[c]-y[c], x[c+cepstra]-y[c+cepstra]
		sum += d * d
		slopes += s * s
	}
	return float32(math.Sqrt(float64(sum + slopes)))
}

func (w *warping) cost(i, j int) float32 {
	cost := w.distance(i, j)
	switch {
	case w.a.silent[i] && w.b.silent[j]:
		return cost * (1 - silentPair*w.trust)
	case w.a.silent[i] != w.b.silent[j]:
		return cost + silenceCost*w.mean*w.trust
	}
	return cost
}

// meanDistance returns the mean distance of frames sampled from the whole sounds.
func (w *warping) meanDistance() float32 {
	const looks = 500
	sum := float32(0)
	for k := range looks {
		sum += w.distance(k*7919%w.a.frames(), k*104729%w.b.frames())
	}
	return sum / looks
}

func (w *warping) row(j, from, to int, before []float32, beforeFrom int) (costs []float32, steps []byte) {
	costs, steps = make([]float32, to-from), make([]byte, to-from)
	extra := stretching * w.mean
	at := func(i int) float32 { // in the previous row
		if i < beforeFrom || i >= beforeFrom+len(before) {
			return math.MaxFloat32
		}
		return before[i-beforeFrom]
	}
	for i := from; i < to; i++ {
		best, step := at(i-1), both
		if j == 0 && i == 0 {
			best = 0
		}
		if c := at(i); c < best && c+extra < best {
			best, step = c+extra, onlyB
		}
		if i > from {
			if c := costs[i-from-1] + w.stay(i, j, extra); c < best {
				best, step = c, onlyA
			}
		}
		costs[i-from], steps[i-from] = best+w.cost(i, j), step
	}
	return costs, steps
}

// stay returns the cost of repeating a frame of the reference for another frame of the recording. Pauses may have any
// length.
func (w *warping) stay(i, j int, extra float32) float32 {
	if w.a.silent[i] && w.b.silent[j] {
		return extra * (1 - w.trust)
	}
	return extra
}

func (w *warping) trace(steps [][]byte, froms []int) path {
	rows := len(steps)
	p := path{first: make([]int, rows), last: make([]int, rows), cost: make([]float64, rows), typical: float64(w.mean)}
	for j := range p.last {
		p.last[j] = -1
	}
	i, j := w.a.frames()-1, rows-1
	for {
		if p.last[j] < 0 {
			p.last[j] = i
		}
		p.first[j] = i
		p.cost[j] += float64(w.distance(i, j))
		if i == 0 && j == 0 {
			break
		}
		switch step := steps[j][i-froms[j]]; {
		case i > 0 && (step == onlyA || j == 0):
			i--
		case i == 0 || step == onlyB:
			j--
		default:
			i, j = i-1, j-1
		}
	}
	for j := range p.cost {
		p.cost[j] /= float64(p.last[j] - p.first[j] + 1)
	}
	return p
}
