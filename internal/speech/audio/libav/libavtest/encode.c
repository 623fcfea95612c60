#include "encode.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

#define UNFRAMED 1024 // samples in a packet of PCM

static int write_packets(AVFormatContext *format, AVCodecContext *codec, const AVFrame *frame, AVPacket *packet) {
    int err = avcodec_send_frame(codec, frame);
    while (err >= 0) {
        err = avcodec_receive_packet(codec, packet);
        if (err == AVERROR(EAGAIN) || err == AVERROR_EOF)
            return 0;
        if (err < 0)
            return err;
        av_packet_rescale_ts(packet, codec->time_base, format->streams[0]->time_base);
        packet->stream_index = 0;
        err = av_interleaved_write_frame(format, packet);
    }
    return err;
}

static int encode_all(AVFormatContext *format, AVCodecContext *codec, SwrContext *converter, const float *samples,
                      int frames, AVFrame *frame, AVPacket *packet) {
    int size = codec->frame_size > 0 ? codec->frame_size : UNFRAMED;
    for (int done = 0, err; done < frames; done += size) {
        int count = frames - done < size ? frames - done : size;
        const uint8_t *in = (const uint8_t *)(samples + (size_t)done * codec->ch_layout.nb_channels);
        frame->nb_samples = count;
        frame->format = codec->sample_fmt;
        frame->sample_rate = codec->sample_rate;
        frame->pts = done;
        if ((err = av_channel_layout_copy(&frame->ch_layout, &codec->ch_layout)) < 0 || (err = av_frame_get_buffer(frame, 0)) < 0)
            return err;
        if ((err = swr_convert(converter, frame->extended_data, count, &in, count)) < 0)
            return err;
        err = write_packets(format, codec, frame, packet);
        av_frame_unref(frame);
        if (err < 0)
            return err;
    }
    return write_packets(format, codec, NULL, packet);
}

static int open_encoder(AVFormatContext *format, AVCodecContext **codec, const char *name, int rate, int channels) {
    const AVCodec *encoder = avcodec_find_encoder_by_name(name);
    if (!encoder)
        return AVERROR_ENCODER_NOT_FOUND;
    if (!(*codec = avcodec_alloc_context3(encoder)))
        return AVERROR(ENOMEM);
    (*codec)->sample_fmt = encoder->sample_fmts[0];
    (*codec)->sample_rate = rate;
    (*codec)->time_base = (AVRational){1, rate};
    (*codec)->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
    av_channel_layout_default(&(*codec)->ch_layout, channels);
    if (format->oformat->flags & AVFMT_GLOBALHEADER)
        (*codec)->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    int err = avcodec_open2(*codec, encoder, NULL);
    if (err < 0)
        return err;
    AVStream *stream = avformat_new_stream(format, NULL);
    if (!stream)
        return AVERROR(ENOMEM);
    stream->time_base = (*codec)->time_base;
    return avcodec_parameters_from_context(stream->codecpar, *codec);
}

int recital_encode(const char *muxer, const char *name, const float *samples, int frames, int rate, int channels,
                   recital_encoded *encoded) {
    AVFormatContext *format = NULL;
    AVCodecContext *codec = NULL;
    SwrContext *converter = NULL;
    AVFrame *frame = av_frame_alloc();
    AVPacket *packet = av_packet_alloc();
    av_log_set_level(AV_LOG_ERROR);
    int err = avformat_alloc_output_context2(&format, NULL, muxer, NULL);
    if (err >= 0)
        err = open_encoder(format, &codec, name, rate, channels);
    if (err >= 0)
        err = swr_alloc_set_opts2(&converter, &codec->ch_layout, codec->sample_fmt, rate, &codec->ch_layout,
                                  AV_SAMPLE_FMT_FLT, rate, 0, NULL);
    if (err >= 0)
        err = swr_init(converter);
    if (err >= 0)
        err = avio_open_dyn_buf(&format->pb);
    if (err >= 0)
        err = avformat_write_header(format, NULL);
    if (err >= 0)
        err = encode_all(format, codec, converter, samples, frames, frame, packet);
    if (err >= 0)
        err = av_write_trailer(format);
    if (format && format->pb)
        encoded->size = avio_close_dyn_buf(format->pb, &encoded->data);
    avformat_free_context(format);
    avcodec_free_context(&codec);
    swr_free(&converter);
    av_frame_free(&frame);
    av_packet_free(&packet);
    return err;
}

void recital_encoded_free(recital_encoded *encoded) { av_freep(&encoded->data); }
