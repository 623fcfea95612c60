// Strictly decodes a whole file from memory.
#ifndef RECITAL_DECODE_H
#define RECITAL_DECODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    float *samples; // of the first channel; freed with recital_decoded_free
    size_t length;
    size_t capacity;
    int rate;     // Hz
    int channels; // of the file
} recital_decoded;

// Returns 0 or a libav error code. decoded must be freed in both cases.
int recital_decode(const uint8_t *data, size_t size, const char *demuxer, recital_decoded *decoded);
void recital_decoded_free(recital_decoded *decoded);

#endif
