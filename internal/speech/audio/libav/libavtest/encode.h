// Encodes whole files in memory, like the programs of clients.
#ifndef RECITAL_ENCODE_H
#define RECITAL_ENCODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *data; // freed with recital_encoded_free
    int size;
} recital_encoded;

// Encodes interleaved floats. Returns 0 or a libav error code.
int recital_encode(const char *muxer, const char *codec, const float *samples, int frames, int rate, int channels,
                   recital_encoded *encoded);
void recital_encoded_free(recital_encoded *encoded);

#endif
