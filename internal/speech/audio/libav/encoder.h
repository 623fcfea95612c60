// One stream of speech through libav: resampler, encoder and muxer, into memory.
#ifndef RECITAL_ENCODER_H
#define RECITAL_ENCODER_H

#include <stddef.h>
#include <stdint.h>

typedef struct recital_encoder recital_encoder;

// How to encode, in libav's names. Without a codec the output is signed 16-bit PCM at the output rate.
typedef struct {
    const char *codec;          // or NULL
    const char *codec_options;  // key=value:key=value
    const char *muxer;
    const char *muxer_options;
    int64_t bit_rate;           // bits per second
    int input_rate;             // Hz
    int output_rate;            // Hz
    int continues;              // whether it continues another stream: no file header is written
    int64_t at;                 // where, in samples of the output
    int silence;                // samples of the output that it begins with
} recital_recipe;

// Opens libav's libraries, before anything else is called. Returns NULL, or what is missing.
const char *recital_open_libraries(void);

// All functions that return int give 0 or a libav error code. After an error only close is allowed.

int recital_encoder_open(recital_encoder **encoder, const recital_recipe *recipe);
int recital_encoder_push(recital_encoder *encoder, const uint8_t *pcm, int samples);
int recital_encoder_finish(recital_encoder *encoder);

// Ends a stream that another one may continue. The samples that the codec still holds are lost; silence is their number.
int recital_encoder_rest(recital_encoder *encoder, int64_t *at, int64_t *silence);
void recital_encoder_close(recital_encoder *encoder);

// The encoded bytes since the last call; they are valid until the next call of any function.
const uint8_t *recital_encoder_take(recital_encoder *encoder, size_t *length);

// The text of an error code.
void recital_error_text(int code, char *text, size_t size);

// Keeps libav from writing anything but errors to standard error.
void recital_quiet(void);

// Keeps libav from writing anything to standard error: what it says of an untrusted file, an error above all, quotes it.
void recital_silence(void);

// Gives the memory of closed streams back to the system, where the C library would keep it.
void recital_release_memory(void);

#endif
