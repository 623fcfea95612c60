package acousticstest

import (
	"math"
	"math/rand/v2"
)

// Music is a kind of music.
type Music string

// The kinds of music.
const (
	Chords Music = "chords" // of strings, with vibrato
	Drums  Music = "drums"
	Melody Music = "melody" // plucked notes
	Flute  Music = "flute"  // a blown melody with vibrato
	Band   Music = "band"   // chords, drums and a melody
)

// AllMusic returns all kinds of music.
func AllMusic() []Music { return []Music{Chords, Drums, Melody, Flute, Band} }

const (
	beat    = 0.5 // seconds
	vibrato = 5.5 // Hz
	peak    = 12_000
)

// Play returns music of a length in seconds, with a hiss that is 60 dB below it.
func Play(music Music, rate int, seconds float64) []int16 {
	sound := make([]float64, int(seconds*float64(rate)))
	switch music {
	case Chords:
		chords(sound, rate)
	case Drums:
		drums(sound, rate)
	case Melody:
		melody(sound, rate, plucked)
	case Flute:
		melody(sound, rate, blown)
	default:
		chords(sound, rate)
		drums(sound, rate)
		melody(sound, rate, plucked)
	}
	random, loudest := rand.New(rand.NewPCG(3, 3)), 1e-9
	for _, s := range sound {
		loudest = max(loudest, math.Abs(s))
	}
	samples := make([]int16, len(sound))
	for i, s := range sound {
		samples[i] = int16(peak*s/loudest + 5*random.NormFloat64())
	}
	return samples
}

// hertz returns the frequency of a key, in semitones above the lowest A of a cello.
func hertz(key int) float64 { return 110 * math.Exp2(float64(key)/12) }

// chords are three voices that bow the chords of a cadence, two seconds each.
func chords(sound []float64, rate int) {
	progression := [][]int{{3, 7, 10}, {0, 3, 8}, {5, 8, 12}, {2, 5, 10}}
	for i := range sound {
		at := float64(i) / float64(rate)
		bar := int(at / (4 * beat))
		within := at - float64(bar)*4*beat
		for voice, key := range progression[bar%len(progression)] {
			phase := hertz(key)*at + 0.6*math.Sin(2*math.Pi*vibrato*at+float64(voice))
			for h := 1.0; h <= 12; h++ {
				sound[i] += 0.3 / h * math.Sin(2*math.Pi*h*phase) * min(within/0.08, 1) * min((4*beat-within)/0.1, 1)
			}
		}
	}
}

// drums are a bass drum and a snare in turn, and a cymbal twice a beat.
func drums(sound []float64, rate int) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range sound {
		at := float64(i) / float64(rate)
		since, half := math.Mod(at, beat), math.Mod(at, beat/2)
		noise := random.NormFloat64()
		if int(at/beat)%2 == 0 {
			sound[i] += 1.2 * math.Exp(-since/0.09) * math.Sin(2*math.Pi*(55*since+1.5*(1-math.Exp(-since/0.02))))
		} else {
			sound[i] += math.Exp(-since/0.06) * (0.4*noise + 0.4*math.Sin(2*math.Pi*190*since))
		}
		sound[i] += 0.1 * noise * math.Exp(-half/0.03)
	}
}

// melody plays a tune with an instrument, which returns a sample of a note, given the time since its start and its
// length in seconds.
func melody(sound []float64, rate int, instrument func(hertz, since, length float64) float64) {
	tune := []struct {
		key   int
		beats float64
	}{{15, 1}, {17, 0.5}, {19, 0.5}, {22, 1.5}, {20, 0.5}, {19, 1}, {15, 2}, {14, 0.5}, {15, 0.5}, {17, 1}, {12, 2}}
	at := 0
	for n := 0; at < len(sound); n++ {
		note := tune[n%len(tune)]
		length := note.beats * beat
		for i := range int(length * float64(rate)) {
			if at+i < len(sound) {
				sound[at+i] += instrument(hertz(note.key), float64(i)/float64(rate), length)
			}
		}
		at += int(length * float64(rate))
	}
}

func plucked(hertz, since, length float64) (value float64) {
	for h := 1.0; h <= 8; h++ {
		value += 0.8 / h * math.Exp(-since*(1.5+h)) * math.Sin(2*math.Pi*h*hertz*since)
	}
	return value * min((length-since)/0.01, 1)
}

func blown(hertz, since, length float64) (value float64) {
	phase := hertz*since + 0.8*math.Sin(2*math.Pi*vibrato*since)
	for h := 1.0; h <= 5; h++ {
		value += 0.8 / (h * h) * math.Sin(2*math.Pi*h*phase)
	}
	return value * min(since/0.05, 1) * min((length-since)/0.04, 1) * (1 + 0.2*math.Sin(2*math.Pi*vibrato*since))
}
