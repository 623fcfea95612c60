#define _GNU_SOURCE
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <espeak-ng/speak_lib.h>

#define MAX_SIZE (1 << 20) // of a job's text, bytes
#define CPU_SECONDS 120    // a last resort: the pool's own time limit is shorter
#define BATCH_SAMPLES 4096 // samples of one audio frame after the first
#define MARKS 64
#define SILENCE 0xFFFFFFFFu
#define NO_SAMPLE (-1)

// The exit codes of a child.
enum { EXIT_BAD_JOB = 2, EXIT_NO_VOICE = 3, EXIT_SYNTHESIS = 4, EXIT_OUTPUT = 5, EXIT_ORPHAN = 6 };

// The child's own state; the parent never touches it.
static int output;
static uint32_t total; // samples
static int16_t batch[BATCH_SAMPLES];
static int batched;
static int started; // the first audio frame is out
static uint32_t marks[MARKS][2];
static int marked;
static int silent_from = NO_SAMPLE; // where the pause began that lasts up to here
static uint32_t *breaks;            // code point indices, rising, of spaces that the caller added to the text
static uint32_t breaks_count;

static void write_all(const void *data, size_t size)
{
	const char *at = data;
	while (size > 0) {
		ssize_t n = write(output, at, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(EXIT_OUTPUT);
		at += n;
		size -= (size_t)n;
	}
}

static void put_uint32(unsigned char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> (8 * i));
}

// write_frame writes a frame of package workers: kind, stream 0, size, payload.
static void write_frame(char kind, const void *payload, uint32_t size)
{
	static unsigned char frame[9 + sizeof(batch)];
	frame[0] = (unsigned char)kind;
	put_uint32(frame + 1, 0);
	put_uint32(frame + 5, size);
	memcpy(frame + 9, payload, size);
	write_all(frame, 9 + size);
}

static void flush_marks(void)
{
	unsigned char payload[sizeof(marks)];
	if (marked == 0)
		return;
	for (int i = 0; i < marked; i++) {
		put_uint32(payload + 8 * i, marks[i][0]);
		put_uint32(payload + 8 * i + 4, marks[i][1]);
	}
	write_frame('m', payload, 8 * (uint32_t)marked);
	marked = 0;
}

static void flush_audio(void)
{
	flush_marks();
	if (batched == 0)
		return;
	write_frame('a', batch, (uint32_t)batched * sizeof(batch[0])); // the machines that we run on are little-endian
	started = 1;
	batched = 0;
}

static void add_mark(uint32_t index, int sample)
{
	if (marked == MARKS)
		flush_marks();
	marks[marked][0] = index;
	marks[marked][1] = (uint32_t)(sample < 0 ? 0 : sample);
	marked++;
}

// source_index turns a position of espeak-ng, which counts characters from 1, into a code point index of the text
// before spaces were added to it.
static uint32_t source_index(int position)
{
	uint32_t index = position > 0 ? (uint32_t)position - 1 : 0;
	uint32_t added = 0;
	while (added < breaks_count && breaks[added] < index)
		added++;
	return index - added;
}

static void end_silence(void)
{
	if (silent_from == NO_SAMPLE)
		return;
	add_mark(SILENCE, silent_from);
	silent_from = NO_SAMPLE;
}

static void take_event(const espeak_EVENT *event)
{
	switch (event->type) {
	case espeakEVENT_WORD:
		end_silence();
		add_mark(source_index(event->text_position), event->sample);
		break;
	case espeakEVENT_PHONEME:
		if (event->id.string[0] != '_') // the phonemes _ _: _! and so on are pauses
			silent_from = NO_SAMPLE;
		else if (silent_from == NO_SAMPLE)
			silent_from = event->sample;
		break;
	default:
		break;
	}
}

static int on_samples(short *samples, int count, espeak_EVENT *events)
{
	for (; events->type != espeakEVENT_LIST_TERMINATED; events++)
		take_event(events);
	if (samples == NULL)
		return 0;
	total += (uint32_t)count;
	while (count > 0) {
		int n = BATCH_SAMPLES - batched < count ? BATCH_SAMPLES - batched : count;
		memcpy(batch + batched, samples, (size_t)n * sizeof(batch[0]));
		batched += n;
		samples += n;
		count -= n;
		if (!started || batched == BATCH_SAMPLES)
			flush_audio();
	}
	return 0;
}

// read_all returns 0 when the input ended before the first byte.
static int read_all(int in, void *data, size_t size)
{
	char *at = data;
	size_t left = size;
	while (left > 0) {
		ssize_t n = read(in, at, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 && left == size)
			return 0;
		if (n <= 0)
			_exit(EXIT_BAD_JOB);
		at += n;
		left -= (size_t)n;
	}
	return 1;
}

static void *read_block(int in, size_t size)
{
	char *block = calloc(1, size + 1);
	if (block == NULL || (size > 0 && !read_all(in, block, size)))
		_exit(EXIT_BAD_JOB);
	return block;
}

static void synthesise(const struct runner_job *job, const char *voice, const char *text)
{
	unsigned int flags = espeakCHARS_UTF8 | (job->end_pause ? espeakENDPAUSE : 0);
	unsigned char count[4];

	if (espeak_SetVoiceByName(voice) != EE_OK)
		_exit(EXIT_NO_VOICE);
	if (espeak_SetParameter(espeakRATE, job->rate, 0) != EE_OK)
		_exit(EXIT_SYNTHESIS);
	if (espeak_Synth(text, job->text_size, 0, POS_CHARACTER, 0, flags, NULL, NULL) != EE_OK)
		_exit(EXIT_SYNTHESIS);
	end_silence();
	flush_audio();
	put_uint32(count, total);
	write_frame('e', count, sizeof(count));
}

// become_plain_process takes away what the parent's Go runtime had set up, which does not exist in the child.
static void become_plain_process(pid_t parent)
{
	struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	struct rlimit core = { 0, 0 };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_ORPHAN);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
}

// keep_output sends to nowhere what the library prints, which may quote the text, and keeps the frames' own way out.
static void keep_output(int out)
{
	int nowhere = open("/dev/null", O_WRONLY);
	output = dup(out);
	if (nowhere < 0 || output < 0)
		_exit(EXIT_OUTPUT);
	dup2(nowhere, STDOUT_FILENO);
	dup2(nowhere, STDERR_FILENO);
}

static void serve_one(int in, int out)
{
	struct runner_job job;

	if (!read_all(in, &job, sizeof(job)))
		_exit(0);
	if (job.voice_size > 64 || job.text_size > MAX_SIZE || job.breaks_count > MAX_SIZE)
		_exit(EXIT_BAD_JOB);
	char *voice = read_block(in, job.voice_size);
	char *text = read_block(in, job.text_size);
	breaks = read_block(in, job.breaks_count * sizeof(breaks[0]));
	breaks_count = job.breaks_count;
	keep_output(out);
	synthesise(&job, voice, text);
	_exit(0);
}

int runner_open(const char *default_voice)
{
	int options = espeakINITIALIZE_DONT_EXIT | espeakINITIALIZE_PHONEME_EVENTS;
	int rate = espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 20, NULL, options);
	if (rate <= 0)
		return -1;
	if (espeak_SetVoiceByName(default_voice) != EE_OK)
		return -1;
	espeak_SetSynthCallback(on_samples);
	return rate;
}

pid_t runner_fork(int out, int *jobs)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid_t child = fork();
	if (child == 0) {
		close(ends[1]);
		become_plain_process(parent);
		serve_one(ends[0], out);
	}
	close(ends[0]);
	if (child < 0)
		close(ends[1]);
	else
		*jobs = ends[1];
	return child;
}

int runner_wait(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) == 0 ? 0 : 1000 + WEXITSTATUS(status);
}
