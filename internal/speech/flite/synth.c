#define _GNU_SOURCE
#include "synth.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <flite/flite.h>
#include <flite/cst_cg.h>

#include "_cgo_export.h"

#define STREAM_SAMPLES 512 // in a piece, at least

// How the pitch rises at the end of a question.
#define RISE_SECONDS 0.3f
#define RISE_SEMITONES 6.0f // above the mean

cst_voice *register_cmu_us_slt(const char *folder);
cst_voice *register_cmu_us_rms(const char *folder);
cst_voice *register_cmu_us_awb(const char *folder);

struct model {
	cst_voice *voice;
	cst_cg_db *db; // a copy, which can be changed
	float alpha, mean, stddev;
};

static struct model models[SYNTH_VOICES];
static cst_audio_streaming_info *streaming;
static char *phones_left; // of this phrase
static int told; // the words of this phrase have been told
static float rises_to; // Hz at the end of this phrase; 0: it does not rise

static float start_of(const cst_item *word)
{
	return ffeature_float(word, "R:SylStructure.daughter1.daughter1.R:Segment.p.end");
}

static float end_of(const cst_item *word)
{
	return ffeature_float(word, "R:SylStructure.daughtern.daughtern.R:Segment.end");
}

static void tell_words(uintptr_t sink, const cst_utterance *utterance)
{
	const cst_item *word = relation_head(utt_relation(utterance, "Word"));
	const cst_item *previous = NULL;
	for (; word != NULL; word = item_next(word)) {
		const cst_item *token = item_parent(item_as(word, "Token"));
		float end = end_of(word);
		if (token == NULL || end <= 0) // a word without sounds
			continue;
		int same = previous != NULL && item_equal(token, previous);
		synthWord(sink, (char *)item_feat_string(token, "name"), same, start_of(word), end);
		previous = token;
	}
}

// tokenize is flite's own, and gives the tokens that are said as phones theirs.
static cst_utterance *tokenize(cst_utterance *utterance)
{
	char *phones = phones_left;

	utterance = default_tokenization(utterance);
	cst_item *token = relation_head(utt_relation(utterance, "Token"));
	for (; token != NULL; token = item_next(token)) {
		char *end = phones == NULL ? NULL : strchr(phones, '\n');
		if (end == NULL || item_feat_string(token, "name")[0] != SYNTH_SOUND)
			continue;
		*end = '\0';
		item_set_string(token, "phones", phones);
		phones = end + 1;
	}
	return utterance;
}

static int on_samples(const cst_wave *wave, int start, int size, int last, cst_audio_streaming_info *info)
{
	const struct synth_phrase *phrase = info->userdata;

	(void)last;
	if (!told)
		tell_words(phrase->sink, info->utt);
	told = 1;
	if (size > 0 && synthSamples(phrase->sink, wave->samples + start, size) != 0)
		return CST_AUDIO_STREAM_STOP;
	return CST_AUDIO_STREAM_CONT;
}

// raise makes the pitch rise towards the last frame that has a voice.
static void raise(cst_track *track, float seconds_per_frame)
{
	int last = track->num_frames - 1;
	int length = (int)(RISE_SECONDS / seconds_per_frame);

	while (last >= 0 && track->frames[last][0] <= 0)
		last--;
	int first = last > length ? last - length : 0;
	for (int i = first; i <= last; i++) {
		float *pitch = &track->frames[i][0];
		float part = last > first ? (float)(i - first) / (float)(last - first) : 1;
		if (*pitch > 0)
			*pitch = *pitch * (1 - part) + rises_to * part;
	}
}

// mlpg takes the place of flite's function of this name, which gives the frames that are heard: statistical voices of
// flite have no other way to change the pitch within a phrase, and fall at the end of every one.
cst_track *mlpg(const cst_track *params, cst_cg_db *db)
{
	static cst_track *(*own)(const cst_track *, cst_cg_db *);

	if (own == NULL)
		own = (cst_track *(*)(const cst_track *, cst_cg_db *))dlsym(RTLD_NEXT, "mlpg");
	cst_track *track = own(params, db);
	if (track != NULL && rises_to > 0)
		raise(track, db->frame_advance);
	return track;
}

static int load(struct model *model, cst_voice *voice)
{
	if (voice == NULL)
		return -1;
	cst_cg_db *db = malloc(sizeof(*db));
	if (db == NULL)
		return -1;
	memcpy(db, val_cg_db(feat_val(voice->features, "cg_db")), sizeof(*db));
	db->freeable = 0;
	feat_set(voice->features, "cg_db", cg_db_val(db));
	feat_set(voice->features, "streaming_info", audio_streaming_info_val(streaming));
	feat_set(voice->features, "tokenizer_func", uttfunc_val(tokenize));
	model->voice = voice;
	model->db = db;
	model->alpha = db->mlsa_alpha;
	model->mean = get_param_float(voice->features, "int_f0_target_mean", db->f0_mean);
	model->stddev = get_param_float(voice->features, "int_f0_target_stddev", db->f0_stddev);
	return db->sample_rate;
}

int synth_open(void)
{
	flite_init();
	streaming = new_audio_streaming_info();
	if (streaming == NULL)
		return -1;
	streaming->min_buffsize = STREAM_SAMPLES;
	streaming->asc = on_samples;
	int rate = load(&models[SYNTH_SLT], register_cmu_us_slt(NULL));
	if (load(&models[SYNTH_RMS], register_cmu_us_rms(NULL)) != rate || load(&models[SYNTH_AWB], register_cmu_us_awb(NULL)) != rate)
		return -1;
	return rate;
}

int synth_speak(const struct synth_phrase *phrase)
{
	struct model *model = &models[phrase->voice];
	cst_features *features = model->voice->features;

	feat_set_float(features, "int_f0_target_mean", model->mean * phrase->pitch);
	feat_set_float(features, "int_f0_target_stddev", model->stddev * phrase->range);
	feat_set_float(features, "duration_stretch", phrase->stretch);
	model->db->mlsa_alpha = model->alpha + phrase->warp;
	srand(1); // the noise of the excitation is drawn from it: the same job gives the same bytes
	streaming->userdata = (void *)phrase;
	told = 0;
	phones_left = phrase->phones;
	rises_to = phrase->rises ? model->mean * phrase->pitch * exp2f(RISE_SEMITONES * phrase->range / 12) : 0;
	cst_utterance *utterance = flite_synth_text(phrase->text, model->voice);
	if (utterance == NULL)
		return -1;
	delete_utterance(utterance);
	return 0;
}
