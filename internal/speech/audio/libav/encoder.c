#include "encoder.h"
#include "libraries.h"

#include <limits.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define IO_BUFFER_SIZE 4096

struct recital_encoder {
    SwrContext *resampler;
    AVCodecContext *codec; // NULL for plain PCM, which uses only the output of the fields below
    AVFormatContext *muxer;
    AVIOContext *io;
    AVAudioFifo *fifo; // resampled samples that do not fill a frame yet
    AVFrame *frame;
    AVPacket *packet;
    int64_t next_pts; // in samples, like muxed
    int64_t muxed;    // the end of the last packet

    uint8_t *resampled;
    unsigned int resampled_size;

    uint8_t *output;
    size_t output_length;
    size_t output_capacity;
};

static int append_output(recital_encoder *e, const uint8_t *data, size_t length) {
    if (length > e->output_capacity - e->output_length) {
        size_t capacity = 2 * (e->output_length + length);
        uint8_t *grown = libav.av_realloc(e->output, capacity);
        if (!grown)
            return AVERROR(ENOMEM);
        e->output = grown;
        e->output_capacity = capacity;
    }
    memcpy(e->output + e->output_length, data, length);
    e->output_length += length;
    return 0;
}

static int write_to_output(void *opaque, uint8_t *data, int length) {
    int err = append_output(opaque, data, length);
    return err < 0 ? err : length;
}

// Unknown options are errors, so that a typing mistake cannot silently change the sound.
static int all_used(AVDictionary *options) {
    return libav.av_dict_count(options) ? AVERROR_OPTION_NOT_FOUND : 0;
}

static enum AVSampleFormat preferred_format(const AVCodec *codec) {
    for (const enum AVSampleFormat *f = codec->sample_fmts; f && *f != AV_SAMPLE_FMT_NONE; f++)
        if (*f == AV_SAMPLE_FMT_FLTP || *f == AV_SAMPLE_FMT_FLT)
            return *f;
    return codec->sample_fmts ? codec->sample_fmts[0] : AV_SAMPLE_FMT_NONE;
}

static int open_codec(recital_encoder *e, const recital_recipe *recipe, int global_header) {
    const AVCodec *codec = libav.avcodec_find_encoder_by_name(recipe->codec);
    if (!codec)
        return AVERROR_ENCODER_NOT_FOUND;
    e->codec = libav.avcodec_alloc_context3(codec);
    if (!e->codec)
        return AVERROR(ENOMEM);
    e->codec->sample_fmt = preferred_format(codec);
    e->codec->sample_rate = recipe->output_rate;
    e->codec->ch_layout = (AVChannelLayout)AV_CHANNEL_LAYOUT_MONO;
    e->codec->time_base = (AVRational){1, recipe->output_rate};
    e->codec->bit_rate = recipe->bit_rate;
    e->codec->thread_count = 1;
    e->codec->flags |= AV_CODEC_FLAG_BITEXACT;
    if (global_header)
        e->codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;

    AVDictionary *options = NULL;
    int err = libav.av_dict_parse_string(&options, recipe->codec_options, "=", ":", 0);
    if (err >= 0)
        err = libav.avcodec_open2(e->codec, codec, &options);
    if (err >= 0)
        err = all_used(options);
    libav.av_dict_free(&options);
    return err;
}

static int open_io(recital_encoder *e) {
    uint8_t *buffer = libav.av_malloc(IO_BUFFER_SIZE);
    if (!buffer)
        return AVERROR(ENOMEM);
    e->io = libav.avio_alloc_context(buffer, IO_BUFFER_SIZE, 1, e, NULL, write_to_output, NULL);
    if (!e->io) {
        libav.av_free(buffer);
        return AVERROR(ENOMEM);
    }
    e->io->seekable = 0;
    e->muxer->pb = e->io;
    return 0;
}

static int open_muxer(recital_encoder *e, const recital_recipe *recipe) {
    int err = libav.avformat_alloc_output_context2(&e->muxer, NULL, recipe->muxer, NULL);
    if (err < 0)
        return err;
    e->muxer->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    if ((err = open_io(e)) < 0)
        return err;
    if ((err = open_codec(e, recipe, e->muxer->oformat->flags & AVFMT_GLOBALHEADER)) < 0)
        return err;
    AVStream *stream = libav.avformat_new_stream(e->muxer, NULL);
    if (!stream)
        return AVERROR(ENOMEM);
    stream->time_base = e->codec->time_base;
    if ((err = libav.avcodec_parameters_from_context(stream->codecpar, e->codec)) < 0)
        return err;

    AVDictionary *options = NULL;
    err = libav.av_dict_parse_string(&options, recipe->muxer_options, "=", ":", 0);
    if (err >= 0)
        err = libav.avformat_write_header(e->muxer, &options);
    if (err >= 0)
        err = all_used(options);
    libav.av_dict_free(&options);
    if (err >= 0 && recipe->continues) { // the continued stream has the header
        libav.avio_flush(e->io);
        e->output_length = 0;
    }
    return err;
}

static int open_frames(recital_encoder *e) {
    e->fifo = libav.av_audio_fifo_alloc(e->codec->sample_fmt, 1, 2 * e->codec->frame_size);
    e->frame = libav.av_frame_alloc();
    e->packet = libav.av_packet_alloc();
    return e->fifo && e->frame && e->packet ? 0 : AVERROR(ENOMEM);
}

static int begin(recital_encoder *e, const recital_recipe *recipe) {
    e->next_pts = recipe->at;
    if (recipe->silence == 0)
        return 0;
    void *silence = libav.av_calloc(recipe->silence, sizeof(float));
    if (!silence)
        return AVERROR(ENOMEM);
    int written = libav.av_audio_fifo_write(e->fifo, &silence, recipe->silence);
    libav.av_free(silence);
    return written < 0 ? written : 0;
}

// The filter uses floats for every format, so that all formats have the same audio.
static int open_resampler(recital_encoder *e, const recital_recipe *recipe) {
    AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
    enum AVSampleFormat format = e->codec ? e->codec->sample_fmt : AV_SAMPLE_FMT_S16;
    int err = libav.swr_alloc_set_opts2(&e->resampler, &mono, format, recipe->output_rate, &mono, AV_SAMPLE_FMT_S16,
                                  recipe->input_rate, 0, NULL);
    if (err < 0)
        return err;
    if ((err = libav.av_opt_set_sample_fmt(e->resampler, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0)) < 0)
        return err;
    return libav.swr_init(e->resampler);
}

int recital_encoder_open(recital_encoder **encoder, const recital_recipe *recipe) {
    recital_encoder *e = libav.av_mallocz(sizeof *e);
    if (!e)
        return AVERROR(ENOMEM);
    int err = 0;
    if (recipe->codec && (err = open_muxer(e, recipe)) >= 0)
        err = open_frames(e);
    if (recipe->codec && err >= 0)
        err = begin(e, recipe);
    if (err >= 0)
        err = open_resampler(e, recipe);
    if (err < 0) {
        recital_encoder_close(e);
        return err;
    }
    *encoder = e;
    return 0;
}

// Moves finished packets from the codec into the muxer.
static int mux_packets(recital_encoder *e) {
    for (;;) {
        int err = libav.avcodec_receive_packet(e->codec, e->packet);
        if (err == AVERROR(EAGAIN) || err == AVERROR_EOF)
            return 0;
        if (err < 0)
            return err;
        e->packet->stream_index = 0;
        e->muxed = e->packet->pts + e->packet->duration;
        libav.av_packet_rescale_ts(e->packet, e->codec->time_base, e->muxer->streams[0]->time_base);
        err = libav.av_write_frame(e->muxer, e->packet);
        libav.av_packet_unref(e->packet);
        if (err < 0)
            return err;
    }
}

static int encode_frame(recital_encoder *e, int samples) {
    e->frame->nb_samples = samples;
    e->frame->format = e->codec->sample_fmt;
    e->frame->sample_rate = e->codec->sample_rate;
    e->frame->ch_layout = e->codec->ch_layout;
    e->frame->pts = e->next_pts;
    e->next_pts += samples;
    int err = libav.av_frame_get_buffer(e->frame, 0);
    if (err >= 0)
        err = libav.av_audio_fifo_read(e->fifo, (void **)e->frame->data, samples);
    if (err >= 0)
        err = libav.avcodec_send_frame(e->codec, e->frame);
    libav.av_frame_unref(e->frame);
    return err < 0 ? err : mux_packets(e);
}

static int encode_full_frames(recital_encoder *e) {
    while (libav.av_audio_fifo_size(e->fifo) >= e->codec->frame_size) {
        int err = encode_frame(e, e->codec->frame_size);
        if (err < 0)
            return err;
    }
    return 0;
}

// Resamples into the output or the fifo. pcm is NULL to get the samples that the filter still holds.
static int resample(recital_encoder *e, const uint8_t *pcm, int samples) {
    int room = libav.swr_get_out_samples(e->resampler, samples);
    if (room < 0 || room > INT_MAX / (int)sizeof(float))
        return AVERROR(EINVAL);
    if (room == 0)
        return 0;
    libav.av_fast_malloc(&e->resampled, &e->resampled_size, room * sizeof(float));
    if (!e->resampled)
        return AVERROR(ENOMEM);
    int got = libav.swr_convert(e->resampler, &e->resampled, room, pcm ? &pcm : NULL, samples);
    if (got <= 0)
        return got;
    if (!e->codec)
        return append_output(e, e->resampled, got * sizeof(int16_t));
    int written = libav.av_audio_fifo_write(e->fifo, (void **)&e->resampled, got);
    return written < 0 ? written : 0;
}

int recital_encoder_push(recital_encoder *e, const uint8_t *pcm, int samples) {
    int err = resample(e, pcm, samples);
    if (err < 0 || !e->codec)
        return err;
    if ((err = encode_full_frames(e)) < 0)
        return err;
    libav.avio_flush(e->io);
    return e->io->error;
}

int recital_encoder_finish(recital_encoder *e) {
    int err = resample(e, NULL, 0);
    if (err < 0 || !e->codec)
        return err;
    if ((err = encode_full_frames(e)) < 0)
        return err;
    int rest = libav.av_audio_fifo_size(e->fifo);
    if (rest > 0 && (err = encode_frame(e, rest)) < 0)
        return err;
    if ((err = libav.avcodec_send_frame(e->codec, NULL)) < 0)
        return err;
    if ((err = mux_packets(e)) < 0)
        return err;
    if ((err = libav.av_write_trailer(e->muxer)) < 0)
        return err;
    libav.avio_flush(e->io);
    return e->io->error;
}

// The first packet of a stream starts initial_padding before its first sample. To leave no gap between packets, the
// next stream starts initial_padding after the end of the last packet.
//
// An Opus decoder predicts loudness from earlier frames, which a new encoder does not know. Without a frame of silence,
// which resets both, the next sound would fade in over 0.1 s.
int recital_encoder_rest(recital_encoder *e, int64_t *at, int64_t *silence) {
    if (!e->codec)
        return resample(e, NULL, 0);
    *at = e->muxed + e->codec->initial_padding;
    *silence = e->next_pts + libav.av_audio_fifo_size(e->fifo) - *at;
    if (e->codec->codec_id == AV_CODEC_ID_OPUS)
        *silence += e->codec->frame_size;
    int err = libav.av_write_trailer(e->muxer); // ends a cluster
    if (err < 0)
        return err;
    libav.avio_flush(e->io);
    return e->io->error;
}

const uint8_t *recital_encoder_take(recital_encoder *e, size_t *length) {
    *length = e->output_length;
    e->output_length = 0;
    return e->output;
}

void recital_encoder_close(recital_encoder *e) {
    if (!e)
        return;
    libav.avformat_free_context(e->muxer); // before the io, because it may still point to it
    if (e->io)
        libav.av_freep(&e->io->buffer);
    libav.avio_context_free(&e->io);
    libav.avcodec_free_context(&e->codec);
    if (e->fifo)
        libav.av_audio_fifo_free(e->fifo);
    libav.av_frame_free(&e->frame);
    libav.av_packet_free(&e->packet);
    libav.swr_free(&e->resampler);
    libav.av_freep(&e->resampled);
    libav.av_freep(&e->output);
    libav.av_free(e);
}

void recital_error_text(int code, char *text, size_t size) { libav.av_strerror(code, text, size); }

void recital_quiet(void) { libav.av_log_set_level(AV_LOG_ERROR); }

void recital_silence(void) { libav.av_log_set_level(AV_LOG_QUIET); }

void recital_release_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
