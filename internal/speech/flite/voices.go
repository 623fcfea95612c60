package flite

// The used voices of flite, in the order of synth.h.
const (
	slt = iota // a woman from the United States
	rms        // a man from the United States
	awb        // a man from Scotland
)

// voice is a voice of flite and its modifications. The zero value modifies nothing.
type voice struct {
	base    int
	pitch   float64 // a factor on the mean fundamental frequency
	width   float64 // a factor on its range
	stretch float64 // a factor on durations
	warp    float64 // added to the all-pass constant, 0.42 (Tokuda et al., ICSLP 1994): above 0 means a longer vocal tract
}

// voiceOf returns a system voice, by its variant for espeak-ng, as a modified voice of flite.
func voiceOf(variant string) (voice, bool) {
	switch variant {
	case "f2": // leah
		return voice{base: slt, pitch: 1, width: 1, stretch: 1}, true
	case "f3": // ava
		return voice{base: slt, pitch: 1.16, width: 1.15, stretch: 0.96, warp: -0.025}, true
	case "f4": // lily
		return voice{base: slt, pitch: 1.08, width: 1.45, stretch: 1, warp: -0.015}, true
	case "f5": // elowen
		return voice{base: slt, pitch: 0.96, width: 0.75, stretch: 1.1, warp: 0.01}, true
	case "f1": // amy
		return voice{base: slt, pitch: 0.86, width: 0.9, stretch: 1.03, warp: 0.025}, true
	case "m3": // zeke
		return voice{base: rms, pitch: 1, width: 1, stretch: 1}, true
	case "m8": // morgan
		return voice{base: rms, pitch: 0.86, width: 0.9, stretch: 1.08, warp: 0.03}, true
	case "m7": // curtis
		return voice{base: rms, pitch: 1.08, width: 1.1, stretch: 0.97, warp: 0.015}, true
	case "m6": // ansel
		return voice{base: awb, pitch: 0.95, width: 0.9, stretch: 1.03}, true
	}
	return voice{}, false
}
