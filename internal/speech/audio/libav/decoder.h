// Decodes one untrusted file. Nothing is opened: the bytes come from, and the samples go to, functions in Go.
#ifndef RECITAL_DECODER_H
#define RECITAL_DECODER_H

#include <stdint.h>

typedef struct {
    uintptr_t sink;       // of the functions in Go
    const char *demuxer;  // libav's name
    int rate;             // Hz, of the samples
    int64_t size;         // bytes of the file
    int64_t max_samples;  // at that rate
} recital_upload;

typedef struct {
    int64_t samples;
    int damaged; // the file is cut off, or packets of it could not be decoded
} recital_decoded_upload;

// Returns 0, or the failure: a byte of package protocol, or -1 when a function in Go has failed.
int recital_decode_upload(const recital_upload *upload, recital_decoded_upload *decoded);

// Lets the process end when it has used up its processor time: the Go runtime ignores that signal.
void recital_end_at_limit(void);

#endif
