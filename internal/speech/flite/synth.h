// Speaks phrases with a voice of flite. Not for concurrent use: the voices are flite's own, and what is asked for is
// set on them.
#ifndef RECITAL_FLITE_SYNTH_H
#define RECITAL_FLITE_SYNTH_H

#include <stdint.h>

// The voices, in the order of base in voices.go.
enum { SYNTH_SLT, SYNTH_RMS, SYNTH_AWB, SYNTH_VOICES };

// A character that no text of a client has.
#define SYNTH_SOUND 1

struct synth_phrase {
	uintptr_t sink;   // goes to the exported functions
	const char *text; // ASCII; a token that begins with SYNTH_SOUND is said as phones
	char *phones;     // of those tokens, in order, each with a closing newline; it is written to
	int32_t voice;
	float pitch;   // a factor on the mean fundamental frequency
	float range;   // a factor on its standard deviation
	float stretch; // a factor on durations
	int32_t rises; // 1: the pitch rises at the end, as in a question that yes or no answers
	float warp;    // what is added to the voice's all-pass constant: above 0 the vocal tract is longer
};

// synth_open loads the voices. It returns their sample rate in Hz, or -1.
int synth_open(void);

// synth_speak calls synthWord for each word, then synthSamples as samples come, both exported by Go; neither where
// there is nothing to say. Returns 0, or -1 when the phrase could not be spoken.
int synth_speak(const struct synth_phrase *phrase);

#endif
