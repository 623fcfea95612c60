package kokoro

import (
	"context"
	"math"

	"github.com/recital-tts/recital/internal/speech/neural/family"
	"github.com/recital-tts/recital/internal/speech/neural/ort"
)

// Whole implements family.Model.
func (v *Voice) Whole(
	uncut *ort.Session, ids []int64, durations []float64,
) (frames []int, samples []float32, err error) {
	count := 0
	for _, d := range durations {
		frames = append(frames, int(max(1, math.RoundToEven(d))))
		count += frames[len(frames)-1]
	}
	given := []ort.Tensor{ort.Ints(ids, 1, int64(len(ids))), v.style(len(ids)), ort.Floats([]float32{1}, 1)}
	if v.phases {
		given = append(given, phases(family.Noise{}))
	}
	if v.noise {
		noise := make([]float32, count*ownHop*harmonics)
		given = append(given, ort.Floats(noise, 1, int64(count*ownHop), harmonics))
	}
	out, err := uncut.Run(context.Background(), given...)
	if err != nil {
		return nil, nil, err
	}
	return frames, resampled(out[0].Floats), nil
}
