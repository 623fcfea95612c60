#define _GNU_SOURCE
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <espeak-ng/speak_lib.h>

#define MAX_SIZE (1 << 20)      // of a part's text, bytes
#define MAX_PARTS (1 << 16)     // of a job
#define MAX_SILENCE (1 << 20)   // after a part, samples
#define MAX_LINES (1 << 14)     // of a voice file, bytes
#define CPU_SECONDS 120         // a last resort: the pool's own time limit is shorter
#define REHEARSAL_CPU_SECONDS 3 // what takes longer has lost its way
#define BATCH_SAMPLES 16384 // the most samples of an audio frame, which grow: the first ones are waited for
#define MARKS 64
#define SILENCE 0xFFFFFFFFu
#define NO_SAMPLE (-1)
#define QUIET 60        // samples below it are not heard at the start
#define EDGE 110        // samples that are kept before the first that is heard

// The exit codes of a child.
enum { EXIT_BAD_JOB = 2, EXIT_NO_VOICE = 3, EXIT_SYNTHESIS = 4, EXIT_OUTPUT = 5, EXIT_ORPHAN = 6 };

// The child's own state; the parent never touches it.
static int output = -1; // nowhere: a rehearsal
static uint32_t total; // samples
static uint32_t part_start; // samples before this part
static int16_t batch[BATCH_SAMPLES];
static int batched;
static int enough = 1024; // samples of this audio frame
static unsigned char frames[2 * (9 + sizeof(batch))]; // not written yet
static size_t framed;
static int started; // the first audio frame is out
static uint32_t marks[MARKS][2];
static int marked;
static int wants_phonemes;
static int transcribes;
static unsigned char phonemes[MARKS][12]; // a sample, and a name
static int phonemes_count;
static int silent_from = NO_SAMPLE; // where the pause began that lasts up to here
static const struct runner_part *part; // the one that is being said
static uint32_t *breaks;               // of it, rising
static int heard;   // it has begun to be heard
static int skipped; // samples of it before that, which are left out
static int quiet;   // samples at its end, up to here, that are not heard

static void write_all(int to, const void *data, size_t size)
{
	const char *at = data;
	while (size > 0) {
		ssize_t n = write(to, at, size);
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

static void write_frames(void)
{
	write_all(output, frames, framed);
	framed = 0;
}

// put_frame adds a frame of package workers: kind, stream 0, size, payload. It is written with the next audio, so that
// recitald wakes once for both.
static void put_frame(char kind, const void *payload, uint32_t size)
{
	unsigned char *frame;
	if (output < 0)
		return;
	if (framed + 9 + size > sizeof(frames))
		write_frames();
	frame = frames + framed;
	frame[0] = (unsigned char)kind;
	put_uint32(frame + 1, 0);
	put_uint32(frame + 5, size);
	memcpy(frame + 9, payload, size);
	framed += 9 + size;
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
	put_frame('m', payload, 8 * (uint32_t)marked);
	marked = 0;
}

static void flush_phonemes(void)
{
	if (phonemes_count > 0)
		put_frame('p', phonemes, sizeof(phonemes[0]) * (uint32_t)phonemes_count);
	phonemes_count = 0;
}

static void put_audio(void)
{
	flush_marks();
	flush_phonemes();
	if (batched == 0)
		return;
	put_frame('a', batch, (uint32_t)batched * sizeof(batch[0])); // the machines that we run on are little-endian
	started = 1;
	enough = enough < BATCH_SAMPLES ? 2 * enough : BATCH_SAMPLES;
	batched = 0;
}

static void flush_audio(void)
{
	put_audio();
	write_frames();
}

// add_mark takes a sample of the part.
static void add_mark(uint32_t index, int sample)
{
	if (marked == MARKS)
		flush_marks();
	marks[marked][0] = index;
	marks[marked][1] = part_start + (uint32_t)(sample < 0 ? 0 : sample);
	marked++;
}

// add_phoneme takes a sample of the part, and a name of at most 8 bytes.
static void add_phoneme(const char *name, int sample)
{
	if (phonemes_count == MARKS)
		flush_phonemes();
	unsigned char *to = phonemes[phonemes_count++];
	put_uint32(to, part_start + (uint32_t)(sample < 0 ? 0 : sample));
	memset(to + 4, 0, 8);
	memcpy(to + 4, name, strnlen(name, 8));
}

// place turns a sample of espeak-ng's into one of the part.
static int place(int sample)
{
	return sample > skipped ? sample - skipped : 0;
}

static int is_below(short sample, int limit)
{
	return sample > -limit && sample < limit;
}

// lead_of returns how many of the samples are left out, because the part has not begun to be heard.
static int lead_of(const short *samples, int count)
{
	int first = 0;

	if (!part->trimmed || heard)
		return 0;
	while (first < count && is_below(samples[first], QUIET))
		first++;
	heard = first < count;
	if (heard)
		first = first > EDGE ? first - EDGE : 0;
	skipped += first;
	return first;
}

static void note_quiet(const short *samples, int count)
{
	int last = count;

	while (last > 0 && is_below(samples[last - 1], part->faint))
		last--;
	quiet = last > 0 ? count - last : quiet + count;
}

// source_index turns a position of espeak-ng, which counts the part's characters from 1, into a code point index of
// the job's text.
static uint32_t source_index(int position)
{
	uint32_t index = position > 0 ? (uint32_t)position - 1 : 0;
	uint32_t added = 0;
	while (added < part->breaks_count && breaks[added] < index)
		added++;
	return part->start + index - added;
}

// on_clause writes the phonemes of a clause, after the index at which its part begins. The marks of its words follow.
static int on_clause(const char *text)
{
	static unsigned char frame[sizeof(batch)];
	size_t size = strnlen(text, sizeof(frame) - 4);
	flush_marks();
	put_uint32(frame, part->start);
	memcpy(frame + 4, text, size);
	put_frame('t', frame, (uint32_t)size + 4);
	write_frames();
	return 0;
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
		add_mark(source_index(event->text_position), place(event->sample));
		break;
	case espeakEVENT_PHONEME:
		if (wants_phonemes)
			add_phoneme(event->id.string, place(event->sample));
		if (event->id.string[0] != '_') // the phonemes _ _: _! and so on are pauses
			silent_from = NO_SAMPLE;
		else if (silent_from == NO_SAMPLE)
			silent_from = place(event->sample);
		break;
	default:
		break;
	}
}

static void add_samples(const int16_t *samples, int count)
{
	total += (uint32_t)count;
	while (count > 0) {
		int n = enough - batched < count ? enough - batched : count;
		memcpy(batch + batched, samples, (size_t)n * sizeof(batch[0]));
		batched += n;
		samples += n;
		count -= n;
		if (!started || batched == enough)
			flush_audio();
	}
}

static int on_samples(short *samples, int count, espeak_EVENT *events)
{
	int first = samples != NULL ? lead_of(samples, count) : 0;

	for (; events->type != espeakEVENT_LIST_TERMINATED; events++)
		take_event(events);
	if (samples == NULL || transcribes)
		return 0;
	note_quiet(samples + first, count - first);
	add_samples(samples + first, count - first);
	return 0;
}

static void add_silence(uint32_t count)
{
	static const int16_t nothing[BATCH_SAMPLES];
	if (count > 0 && silent_from == NO_SAMPLE)
		silent_from = (int)(total - part_start);
	while (count > 0) {
		uint32_t n = count < BATCH_SAMPLES ? count : BATCH_SAMPLES;
		add_samples(nothing, (int)n);
		count -= n;
	}
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

static void set_parameter(espeak_PARAMETER parameter, int value)
{
	if (espeak_SetParameter(parameter, value, 0) != EE_OK)
		_exit(EXIT_SYNTHESIS);
}

// set_voice sets the voice that the lines of a voice file describe. espeak-ng only reads voices from files; this one is
// in memory and ends with the process.
static void set_voice(const char *lines)
{
	char name[32];
	int file = memfd_create("voice", 0);

	if (file < 0)
		_exit(EXIT_NO_VOICE);
	write_all(file, lines, part->lines_size);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	if (espeak_SetVoiceByFile(name) != EE_OK)
		_exit(EXIT_NO_VOICE);
	close(file);
}

// silence_left returns the silence to add to what is quiet at the end of the part, and before the next one.
static uint32_t silence_left(void)
{
	uint32_t there = part->trimmed ? (uint32_t)quiet + EDGE : 0;

	return part->silence > there ? part->silence - there : 0;
}

static void say(const char *voice, const char *lines, const char *text)
{
	unsigned int flags = espeakCHARS_UTF8 | (part->end_pause ? espeakENDPAUSE : 0) |
		(part->sounds ? espeakPHONEMES : 0);

	if (part->lines_size > 0)
		set_voice(lines);
	else if (espeak_SetVoiceByName(voice) != EE_OK)
		_exit(EXIT_NO_VOICE);
	set_parameter(espeakRATE, part->rate);
	set_parameter(espeakPITCH, part->pitch);
	set_parameter(espeakRANGE, part->range);
	set_parameter(espeakVOLUME, part->volume);
	set_parameter(espeakWORDGAP, part->word_gap);
	part_start = total;
	heard = skipped = quiet = 0;
	if (espeak_Synth(text, part->text_size, 0, POS_CHARACTER, 0, flags, NULL, NULL) != EE_OK)
		_exit(EXIT_SYNTHESIS);
	add_silence(silence_left());
	end_silence();
}

// become_plain_process takes away what the parent's Go runtime had set up, which does not exist in the child.
static void become_plain_process(pid_t parent)
{
	struct rlimit core = { 0, 0 };
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_ORPHAN);
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

static void limit_cpu(rlim_t seconds)
{
	struct rlimit cpu = { seconds, seconds };
	setrlimit(RLIMIT_CPU, &cpu);
}

static void serve_part(int in)
{
	struct runner_part next;

	if (!read_all(in, &next, sizeof(next)))
		_exit(EXIT_BAD_JOB);
	if (next.voice_size > 64 || next.lines_size > MAX_LINES || next.text_size > MAX_SIZE || next.breaks_count > MAX_SIZE || next.silence > MAX_SILENCE)
		_exit(EXIT_BAD_JOB);
	char *voice = read_block(in, next.voice_size);
	char *lines = read_block(in, next.lines_size);
	char *text = read_block(in, next.text_size);
	breaks = read_block(in, next.breaks_count * sizeof(breaks[0]));
	part = &next;
	say(voice, lines, text);
	free(voice);
	free(lines);
	free(text);
	free(breaks);
}

static void serve_one(int in, int out)
{
	struct runner_job job;
	unsigned char count[4];

	if (!read_all(in, &job, sizeof(job)))
		_exit(0);
	if (job.parts > MAX_PARTS)
		_exit(EXIT_BAD_JOB);
	wants_phonemes = job.phonemes;
	transcribes = job.transcribe;
	limit_cpu(job.rehearsal ? REHEARSAL_CPU_SECONDS : CPU_SECONDS);
	keep_output(out);
	if (job.rehearsal)
		output = -1;
	if (transcribes) {
		espeak_SetPhonemeTrace(espeakPHONEMES_IPA, stderr); // which is nowhere
		espeak_SetPhonemeCallback(on_clause);
	}
	for (uint32_t i = 0; i < job.parts; i++)
		serve_part(in);
	put_audio();
	put_uint32(count, total);
	put_frame('e', count, sizeof(count));
	write_frames();
	_exit(0);
}

const char *runner_data(void)
{
	const char *path;
	espeak_Info(&path);
	return path;
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
