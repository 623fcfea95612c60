// Decodes an untrusted file. It opens no files: functions in Go provide the bytes and receive the samples.
#ifndef RECITAL_DECODER_H
#define RECITAL_DECODER_H

#include <stdint.h>

typedef struct {
    uintptr_t sink;       // argument of the functions in Go
    const char *demuxer;  // libav's name
    int rate;             // Hz, of the samples
    int64_t size;         // bytes of the file
    int64_t max_samples;  // at that rate
} recital_upload;

typedef struct {
    int64_t samples;
    int damaged; // the file is cut off, or some packets could not be decoded
} recital_decoded_upload;

// Returns 0, or a failure: a byte of package protocol, or -1 if a function in Go failed.
int recital_decode_upload(const recital_upload *upload, recital_decoded_upload *decoded);

// Makes the process end when it has used up its processor time. The Go runtime ignores that signal.
void recital_end_at_limit(void);

#endif
