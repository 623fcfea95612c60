// Runs each job in a child process that was forked, before the job came, from a process in which espeak-ng is
// loaded and has never spoken. espeak-ng keeps state between utterances that its API cannot reset (phase of the
// flutter and of the wave, the last frame, random numbers), and some texts make it crash or corrupt its memory.
// In a fresh copy the same job always gives the same bytes, and a crash leaves nothing behind.
#ifndef RECITAL_RUNNER_H
#define RECITAL_RUNNER_H

#include <stdint.h>
#include <sys/types.h>

// A job on the pipe: this, then its parts.
struct runner_job {
	int32_t rehearsal;  // 1: synthesise, but write no frames
	int32_t phonemes;   // 1: write the phonemes, too
	int32_t transcribe; // 1: write the phonemes of clauses in IPA, and no audio
	uint32_t parts;
};

// A part on the pipe: this, then the voice's name with a closing NUL, its lines, the text with a closing NUL, and the breaks.
// Each part is an utterance of its own for espeak-ng.
struct runner_part {
	uint32_t start;        // code points of the job's text before this part
	int32_t rate;          // words per minute
	int32_t pitch;         // 0 to 100, 50 is the voice's own
	int32_t range;         // of the pitch, 0 to 100, 50 is the voice's own
	int32_t volume;        // 0 to 200, 100 is the voice's own
	int32_t word_gap;      // of 10 ms at the normal rate
	int32_t end_pause;     // 1: end with the pause that belongs to the last punctuation
	int32_t trimmed;       // 1: begin where it is heard, and count what is quiet at the end as silence
	int32_t sounds;        // 1: what is in double brackets is in phonemes
	int32_t faint;         // samples below it are quiet at the end
	uint32_t silence;      // samples of silence at the end
	uint32_t voice_size;   // bytes, with the closing NUL
	uint32_t lines_size;   // bytes of a voice file that describes the voice; 0: it has a name
	uint32_t text_size;    // bytes, with the closing NUL
	uint32_t breaks_count; // of uint32_t: indices of the text's code points that are no part of the job's text
};

// runner_open loads espeak-ng and the default voice. It returns the sample rate, or -1.
int runner_open(const char *default_voice);

// runner_data returns the folder of espeak-ng's data.
const char *runner_data(void);

// runner_fork starts a child that waits for one job on a pipe, whose writing end goes to *jobs. The child writes its
// frames to the file descriptor out. Returns its process id, or -1 with errno. The caller's thread must live as long
// as the child: the child is killed when it ends.
pid_t runner_fork(int out, int *jobs);

// runner_wait waits for the child and returns 0 when it ended well, its signal number when it was killed by one, and
// 1000 + its exit code otherwise.
int runner_wait(pid_t child);

#endif
