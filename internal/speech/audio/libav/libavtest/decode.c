#include "decode.h"

#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <libswresample/swresample.h>

#define IO_BUFFER_SIZE 4096

typedef struct {
    const uint8_t *data;
    size_t left;
} source;

static int read_source(void *opaque, uint8_t *buffer, int size) {
    source *s = opaque;
    if (s->left == 0)
        return AVERROR_EOF;
    size_t n = (size_t)size < s->left ? (size_t)size : s->left;
    memcpy(buffer, s->data, n);
    s->data += n;
    s->left -= n;
    return n;
}

static int append(recital_decoded *d, SwrContext **resampler, const AVFrame *frame) {
    int err;
    if (!*resampler) {
        AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
        err = swr_alloc_set_opts2(resampler, &mono, AV_SAMPLE_FMT_FLT, frame->sample_rate, (AVChannelLayout *)&frame->ch_layout,
                                  frame->format, frame->sample_rate, 0, NULL);
        if (err < 0 || (err = swr_init(*resampler)) < 0)
            return err;
        d->rate = frame->sample_rate;
        d->channels = frame->ch_layout.nb_channels;
    }
    if (d->length + frame->nb_samples > d->capacity) {
        size_t capacity = 2 * (d->length + frame->nb_samples);
        float *grown = av_realloc_array(d->samples, capacity, sizeof *grown);
        if (!grown)
            return AVERROR(ENOMEM);
        d->samples = grown;
        d->capacity = capacity;
    }
    uint8_t *out = (uint8_t *)(d->samples + d->length);
    int got = swr_convert(*resampler, &out, frame->nb_samples, (const uint8_t **)frame->extended_data, frame->nb_samples);
    if (got < 0)
        return got;
    d->length += got;
    return 0;
}

static int receive(recital_decoded *d, AVCodecContext *codec, SwrContext **resampler, AVFrame *frame) {
    for (;;) {
        int err = avcodec_receive_frame(codec, frame);
        if (err == AVERROR(EAGAIN) || err == AVERROR_EOF)
            return 0;
        if (err < 0)
            return err;
        err = append(d, resampler, frame);
        av_frame_unref(frame);
        if (err < 0)
            return err;
    }
}

static int decode_packets(recital_decoded *d, AVFormatContext *format, AVCodecContext *codec, SwrContext **resampler,
                          AVFrame *frame, AVPacket *packet) {
    int err;
    while ((err = av_read_frame(format, packet)) >= 0) {
        err = avcodec_send_packet(codec, packet);
        av_packet_unref(packet);
        if (err < 0 || (err = receive(d, codec, resampler, frame)) < 0)
            return err;
    }
    if (err != AVERROR_EOF)
        return err;
    if ((err = avcodec_send_packet(codec, NULL)) < 0)
        return err;
    return receive(d, codec, resampler, frame);
}

static int open_codec(AVFormatContext *format, AVCodecContext **codec) {
    int err = avformat_find_stream_info(format, NULL);
    if (err < 0)
        return err;
    if (format->nb_streams != 1)
        return AVERROR_INVALIDDATA;
    const AVCodecParameters *parameters = format->streams[0]->codecpar;
    const AVCodec *decoder = avcodec_find_decoder(parameters->codec_id);
    if (!decoder)
        return AVERROR_DECODER_NOT_FOUND;
    *codec = avcodec_alloc_context3(decoder);
    if (!*codec)
        return AVERROR(ENOMEM);
    if ((err = avcodec_parameters_to_context(*codec, parameters)) < 0)
        return err;
    (*codec)->pkt_timebase = format->streams[0]->time_base;
    (*codec)->err_recognition = AV_EF_EXPLODE | AV_EF_CRCCHECK | AV_EF_BITSTREAM;
    return avcodec_open2(*codec, decoder, NULL);
}

int recital_decode(const uint8_t *data, size_t size, const char *demuxer, recital_decoded *d) {
    av_log_set_level(AV_LOG_ERROR);
    source input = {data, size};
    AVFormatContext *format = avformat_alloc_context();
    AVIOContext *io = avio_alloc_context(av_malloc(IO_BUFFER_SIZE), IO_BUFFER_SIZE, 0, &input, read_source, NULL, NULL);
    AVCodecContext *codec = NULL;
    SwrContext *resampler = NULL;
    AVFrame *frame = av_frame_alloc();
    AVPacket *packet = av_packet_alloc();
    int err = AVERROR(ENOMEM);
    if (format && io && frame && packet) {
        format->pb = io;
        err = avformat_open_input(&format, NULL, av_find_input_format(demuxer), NULL);
    }
    if (err >= 0)
        err = open_codec(format, &codec);
    if (err >= 0)
        err = decode_packets(d, format, codec, &resampler, frame, packet);

    swr_free(&resampler);
    avcodec_free_context(&codec);
    avformat_close_input(&format);
    if (io)
        av_freep(&io->buffer);
    avio_context_free(&io);
    av_frame_free(&frame);
    av_packet_free(&packet);
    return err;
}

void recital_decoded_free(recital_decoded *d) { av_freep(&d->samples); }
