// Runs each job in a child process that was forked, before the job came, from a process in which espeak-ng is
// loaded and has never spoken. espeak-ng keeps state between utterances that its API cannot reset (phase of the
// flutter and of the wave, the last frame, random numbers), and some texts make it crash or corrupt its memory.
// In a fresh copy the same job always gives the same bytes, and a crash leaves nothing behind.
#ifndef RECITAL_RUNNER_H
#define RECITAL_RUNNER_H

#include <stdint.h>
#include <sys/types.h>

struct runner_job {
	int32_t rate;          // words per minute
	int32_t end_pause;     // 1: end with the pause that belongs to the last punctuation
	uint32_t voice_size;   // bytes, with the closing NUL
	uint32_t text_size;    // bytes, with the closing NUL
	uint32_t breaks_count; // of uint32_t
};

// runner_open loads espeak-ng and the default voice. It returns the sample rate, or -1.
int runner_open(const char *default_voice);

// runner_fork starts a child that waits for one job on a pipe, whose writing end goes to *jobs. The child writes its
// frames to the file descriptor out. Returns its process id, or -1 with errno. The caller's thread must live as long
// as the child: the child is killed when it ends.
pid_t runner_fork(int out, int *jobs);

// runner_wait waits for the child and returns 0 when it ended well, its signal number when it was killed by one, and
// 1000 + its exit code otherwise.
int runner_wait(pid_t child);

#endif
