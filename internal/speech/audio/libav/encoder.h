// One stream of speech through libav: resampler, encoder and muxer, into memory.
#ifndef RECITAL_ENCODER_H
#define RECITAL_ENCODER_H

#include <stddef.h>
#include <stdint.h>

typedef struct recital_encoder recital_encoder;

// The settings of an encoder, in libav's names. Without a codec the output is signed 16-bit PCM at the output rate.
typedef struct {
    const char *codec;          // or NULL
    const char *codec_options;  // key=value:key=value
    const char *muxer;
    const char *muxer_options;
    int64_t bit_rate;           // bits per second
    int input_rate;             // Hz
    int output_rate;            // Hz
    int continues;              // whether to continue another stream, without a file header
    int64_t at;                 // position of its first sample, in samples of the output
    int silence;                // samples of silence that it starts with, at the output rate
} recital_recipe;

// Opens libav's libraries. It must be called first. Returns NULL, or an error message.
const char *recital_open_libraries(void);

// Functions that return int return 0 or a libav error code. After an error only close is allowed.

int recital_encoder_open(recital_encoder **encoder, const recital_recipe *recipe);
int recital_encoder_push(recital_encoder *encoder, const uint8_t *pcm, int samples);
int recital_encoder_finish(recital_encoder *encoder);

// Ends a stream that another one may continue. It sets silence to the number of samples that the codec loses.
int recital_encoder_rest(recital_encoder *encoder, int64_t *at, int64_t *silence);
void recital_encoder_close(recital_encoder *encoder);

// Returns the encoded bytes since the last call, which are valid until the next call of any function.
const uint8_t *recital_encoder_take(recital_encoder *encoder, size_t *length);

// Writes the text of an error code.
void recital_error_text(int code, char *text, size_t size);

// Makes libav write only errors to standard error.
void recital_quiet(void);

// Keeps libav from writing to standard error: its messages, above all errors, quote the untrusted file.
void recital_silence(void);

// Returns the memory of closed streams to the system, which the C library would not do by itself.
void recital_release_memory(void);

#endif
