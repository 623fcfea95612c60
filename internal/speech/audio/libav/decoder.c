#include "decoder.h"
#include "libraries.h"

#include <limits.h>
#include <signal.h>
#include <string.h>

#include "_cgo_export.h"

#define IO_BUFFER_SIZE (32 << 10)
#define MAX_STREAMS 64
#define MAX_CHANNELS 8
#define MIN_SOURCE_RATE 4000
#define MAX_SOURCE_RATE 192000
#define MAX_FRAME_SAMPLES (1 << 20)
#define MAX_CHANGES 64      // of the rate or channels within a file
#define TOLERATED_FAILURES 8 // bad packets; with more, most packets must be good
#define MAX_RETRIES 1000    // of a demuxer without output

#define SINK_FAILED (-1)

typedef struct {
    const recital_upload *upload;
    recital_decoded_upload *decoded;
    int64_t position;
    int sink_failed;

    AVFormatContext *format;
    AVIOContext *io;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
    int stream;

    SwrContext *resampler;
    AVChannelLayout source_layout; // of the resampler, like the next two
    int source_rate;
    int source_format;
    int changes;
    uint8_t *resampled;
    unsigned int resampled_size;

    int64_t good, bad; // packets
} decoder;

// The supported codecs. Other tracks of a container are not decoded.
static int is_supported(enum AVCodecID codec) {
    switch (codec) {
    case AV_CODEC_ID_PCM_U8:
    case AV_CODEC_ID_PCM_S8:
    case AV_CODEC_ID_PCM_S16LE:
    case AV_CODEC_ID_PCM_S16BE:
    case AV_CODEC_ID_PCM_S24LE:
    case AV_CODEC_ID_PCM_S24BE:
    case AV_CODEC_ID_PCM_S32LE:
    case AV_CODEC_ID_PCM_S32BE:
    case AV_CODEC_ID_PCM_F32LE:
    case AV_CODEC_ID_PCM_F32BE:
    case AV_CODEC_ID_PCM_F64LE:
    case AV_CODEC_ID_PCM_F64BE:
    case AV_CODEC_ID_PCM_MULAW:
    case AV_CODEC_ID_PCM_ALAW:
    case AV_CODEC_ID_MP3:
    case AV_CODEC_ID_AAC:
    case AV_CODEC_ID_ALAC:
    case AV_CODEC_ID_FLAC:
    case AV_CODEC_ID_OPUS:
    case AV_CODEC_ID_VORBIS:
        return 1;
    default:
        return 0;
    }
}

static int failure_of(const decoder *d, int err) {
    if (d->sink_failed)
        return SINK_FAILED;
    if (err == AVERROR(ENOMEM))
        return 'm';
    return 'd';
}

static int read_upload(void *opaque, uint8_t *buffer, int size) {
    decoder *d = opaque;
    int n = uploadRead(d->upload->sink, d->position, buffer, size);
    if (n < 0) {
        d->sink_failed = 1;
        return AVERROR_EXIT;
    }
    d->position += n;
    return n > 0 ? n : AVERROR_EOF;
}

static int64_t seek_upload(void *opaque, int64_t offset, int whence) {
    decoder *d = opaque;
    switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
        return d->upload->size;
    case SEEK_SET:
        break;
    case SEEK_CUR:
        if (offset > INT64_MAX - d->position)
            return AVERROR(EINVAL);
        offset += d->position;
        break;
    case SEEK_END:
        if (offset > 0)
            return AVERROR(EINVAL);
        offset += d->upload->size;
        break;
    default:
        return AVERROR(EINVAL);
    }
    if (offset < 0)
        return AVERROR(EINVAL);
    return d->position = offset;
}

// Files must not refer to other files.
static int refuse_to_open(struct AVFormatContext *format, AVIOContext **io, const char *url, int flags,
                          AVDictionary **options) {
    (void)format, (void)url, (void)flags, (void)options;
    *io = NULL;
    return AVERROR(EPERM);
}

static int interrupted(void *opaque) { return ((decoder *)opaque)->sink_failed; }

static int open_format(decoder *d) {
    const AVInputFormat *demuxer = libav.av_find_input_format(d->upload->demuxer);
    uint8_t *buffer = libav.av_malloc(IO_BUFFER_SIZE);
    d->format = libav.avformat_alloc_context();
    d->packet = libav.av_packet_alloc();
    d->frame = libav.av_frame_alloc();
    if (buffer)
        d->io = libav.avio_alloc_context(buffer, IO_BUFFER_SIZE, 0, d, read_upload, NULL, seek_upload);
    if (!d->io)
        libav.av_free(buffer);
    if (!demuxer || !d->io || !d->format || !d->packet || !d->frame)
        return AVERROR(ENOMEM);
    d->format->pb = d->io;
    d->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    d->format->io_open = refuse_to_open;
    d->format->interrupt_callback = (AVIOInterruptCB){interrupted, d};
    d->format->max_streams = MAX_STREAMS;
    d->format->error_recognition = AV_EF_CRCCHECK;

    AVDictionary *options = NULL;
    int err = libav.av_dict_set(&options, "protocol_whitelist", "", 0); // none
    if (err >= 0)
        err = libav.av_dict_set(&options, "format_whitelist", "wav,mp3,aac,mov,ogg,matroska,flac", 0);
    if (err >= 0)
        err = libav.avformat_open_input(&d->format, NULL, demuxer, &options); // frees the format if it fails
    libav.av_dict_free(&options);
    return err;
}

static int is_sound(const AVStream *stream) { return stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO; }

// Chooses the first audio track that can be decoded. The others are not read.
static int choose_stream(decoder *d) {
    int failure = 'n';
    d->stream = -1;
    for (unsigned i = 0; i < d->format->nb_streams; i++) {
        AVStream *stream = d->format->streams[i];
        if (d->stream < 0 && is_sound(stream) && is_supported(stream->codecpar->codec_id)) {
            d->stream = (int)i;
            continue;
        }
        if (is_sound(stream))
            failure = 'c';
        stream->discard = AVDISCARD_ALL;
    }
    return d->stream < 0 ? failure : 0;
}

static int open_codec(decoder *d) {
    AVStream *stream = d->format->streams[d->stream];
    const AVCodecParameters *parameters = stream->codecpar;
    if (parameters->ch_layout.nb_channels > MAX_CHANNELS)
        return 'h';
    if (parameters->sample_rate != 0 && (parameters->sample_rate < MIN_SOURCE_RATE || parameters->sample_rate > MAX_SOURCE_RATE))
        return 'r';
    const AVCodec *codec = libav.avcodec_find_decoder(parameters->codec_id);
    if (!codec)
        return 'c';
    if (!(d->codec = libav.avcodec_alloc_context3(codec)))
        return 'm';
    int err = libav.avcodec_parameters_to_context(d->codec, parameters);
    if (err < 0)
        return failure_of(d, err);
    d->codec->pkt_timebase = stream->time_base;
    d->codec->thread_count = 1;
    d->codec->max_samples = MAX_FRAME_SAMPLES;
    err = libav.avcodec_open2(d->codec, codec, NULL);
    return err < 0 ? failure_of(d, err) : 0;
}

// Resamples a frame, or with NULL the samples that the filter still holds, and passes the result on.
static int hand_over(decoder *d, const AVFrame *frame) {
    int samples = frame ? frame->nb_samples : 0;
    int room = libav.swr_get_out_samples(d->resampler, samples);
    if (room < 0 || room > INT_MAX / (int)sizeof(int16_t))
        return 'd';
    if (room == 0)
        return 0;
    libav.av_fast_malloc(&d->resampled, &d->resampled_size, room * sizeof(int16_t));
    if (!d->resampled)
        return 'm';
    int got = libav.swr_convert(d->resampler, &d->resampled, room, frame ? (const uint8_t **)frame->extended_data : NULL, samples);
    if (got < 0)
        return failure_of(d, got);
    if (got > d->upload->max_samples - d->decoded->samples)
        return 'l';
    d->decoded->samples += got;
    if (uploadSamples(d->upload->sink, (int16_t *)d->resampled, got) != 0)
        return SINK_FAILED;
    return 0;
}

static int is_as_before(const decoder *d, const AVFrame *frame) {
    return d->resampler && frame->sample_rate == d->source_rate && frame->format == d->source_format &&
           libav.av_channel_layout_compare(&frame->ch_layout, &d->source_layout) == 0;
}

// Creates the resampler for frames of this kind, which may change within concatenated files.
static int adapt(decoder *d, const AVFrame *frame) {
    if (is_as_before(d, frame))
        return 0;
    if (frame->ch_layout.nb_channels < 1 || frame->ch_layout.nb_channels > MAX_CHANNELS)
        return 'h';
    if (frame->sample_rate < MIN_SOURCE_RATE || frame->sample_rate > MAX_SOURCE_RATE)
        return 'r';
    if (d->changes++ > MAX_CHANGES)
        return 'd';
    int failure = d->resampler ? hand_over(d, NULL) : 0;
    if (failure)
        return failure;
    libav.swr_free(&d->resampler);
    int err = libav.av_channel_layout_copy(&d->source_layout, &frame->ch_layout);
    if (err < 0)
        return failure_of(d, err);
    d->source_rate = frame->sample_rate;
    d->source_format = frame->format;

    AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO, known = {0};
    if (frame->ch_layout.order == AV_CHANNEL_ORDER_NATIVE)
        err = libav.av_channel_layout_copy(&known, &frame->ch_layout);
    else
        libav.av_channel_layout_default(&known, frame->ch_layout.nb_channels);
    if (err >= 0)
        err = libav.swr_alloc_set_opts2(&d->resampler, &mono, AV_SAMPLE_FMT_S16, d->upload->rate, &known, frame->format,
                                        frame->sample_rate, 0, NULL);
    if (err >= 0)
        err = libav.av_opt_set_sample_fmt(d->resampler, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0);
    if (err >= 0)
        err = libav.swr_init(d->resampler);
    libav.av_channel_layout_uninit(&known);
    if (err >= 0 && d->changes == 1 &&
        uploadTrack(d->upload->sink, (char *)libav.avcodec_get_name(d->codec->codec_id), frame->sample_rate, frame->ch_layout.nb_channels) != 0)
        return SINK_FAILED;
    return err < 0 ? failure_of(d, err) : 0;
}

// Decodes a packet, or with NULL the frames that the codec still holds. Invalid packets are skipped.
static int decode_packet(decoder *d, const AVPacket *packet) {
    int err = libav.avcodec_send_packet(d->codec, packet);
    while (err >= 0 && (err = libav.avcodec_receive_frame(d->codec, d->frame)) >= 0) {
        int failure = adapt(d, d->frame);
        if (!failure)
            failure = hand_over(d, d->frame);
        libav.av_frame_unref(d->frame);
        if (failure)
            return failure;
    }
    if (err == AVERROR(ENOMEM))
        return 'm';
    if (err == AVERROR(EAGAIN) || err == AVERROR_EOF) {
        d->good++;
        return 0;
    }
    d->bad++;
    return d->bad > TOLERATED_FAILURES && d->bad > d->good ? 'd' : 0;
}

static int decode_packets(decoder *d) {
    int retries = 0;
    for (;;) {
        int err = libav.av_read_frame(d->format, d->packet);
        if (d->sink_failed)
            return SINK_FAILED;
        if (err == AVERROR(EAGAIN) && retries++ < MAX_RETRIES)
            continue;
        if (err == AVERROR(ENOMEM))
            return 'm';
        if (err < 0) {
            d->decoded->damaged = err != AVERROR_EOF;
            break;
        }
        retries = 0;
        int failure = d->packet->stream_index == d->stream ? decode_packet(d, d->packet) : 0;
        libav.av_packet_unref(d->packet);
        if (failure)
            return failure;
    }
    int failure = decode_packet(d, NULL);
    if (!failure && d->resampler)
        failure = hand_over(d, NULL);
    if (d->bad > 0 || d->io->error < 0)
        d->decoded->damaged = 1;
    if (!failure && d->decoded->samples == 0)
        failure = 'd';
    return failure;
}

static int decode(decoder *d) {
    int err = open_format(d);
    if (err < 0)
        return failure_of(d, err);
    int failure = choose_stream(d);
    if (!failure)
        failure = open_codec(d);
    return failure ? failure : decode_packets(d);
}

int recital_decode_upload(const recital_upload *upload, recital_decoded_upload *decoded) {
    decoder d = {.upload = upload, .decoded = decoded};
    int failure = decode(&d);

    libav.swr_free(&d.resampler);
    libav.av_channel_layout_uninit(&d.source_layout);
    libav.av_freep(&d.resampled);
    libav.avcodec_free_context(&d.codec);
    libav.avformat_close_input(&d.format);
    if (d.io)
        libav.av_freep(&d.io->buffer);
    libav.avio_context_free(&d.io);
    libav.av_packet_free(&d.packet);
    libav.av_frame_free(&d.frame);
    return failure;
}

void recital_end_at_limit(void) { signal(SIGXCPU, SIG_DFL); }
