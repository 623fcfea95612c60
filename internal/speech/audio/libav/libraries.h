// The functions of libav that are used here. Its libraries are opened at run time, because loading their hundred
// dependencies is the slowest part of speechworker's start, and only its modes codec and decode need them.
#ifndef RECITAL_LIBRARIES_H
#define RECITAL_LIBRARIES_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/channel_layout.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>

#define RECITAL_LIBAV(X) \
    X(avutil, av_audio_fifo_alloc) \
    X(avutil, av_audio_fifo_free) \
    X(avutil, av_audio_fifo_read) \
    X(avutil, av_audio_fifo_size) \
    X(avutil, av_audio_fifo_write) \
    X(avutil, av_calloc) \
    X(avutil, av_channel_layout_compare) \
    X(avutil, av_channel_layout_copy) \
    X(avutil, av_channel_layout_default) \
    X(avutil, av_channel_layout_uninit) \
    X(avutil, av_dict_count) \
    X(avutil, av_dict_free) \
    X(avutil, av_dict_parse_string) \
    X(avutil, av_dict_set) \
    X(avutil, av_fast_malloc) \
    X(avutil, av_frame_alloc) \
    X(avutil, av_frame_free) \
    X(avutil, av_frame_get_buffer) \
    X(avutil, av_frame_unref) \
    X(avutil, av_free) \
    X(avutil, av_freep) \
    X(avutil, av_log_set_level) \
    X(avutil, av_malloc) \
    X(avutil, av_mallocz) \
    X(avutil, av_opt_set_sample_fmt) \
    X(avutil, av_realloc) \
    X(avutil, av_strerror) \
    X(swresample, swr_alloc_set_opts2) \
    X(swresample, swr_convert) \
    X(swresample, swr_free) \
    X(swresample, swr_get_out_samples) \
    X(swresample, swr_init) \
    X(avcodec, av_packet_alloc) \
    X(avcodec, av_packet_free) \
    X(avcodec, av_packet_rescale_ts) \
    X(avcodec, av_packet_unref) \
    X(avcodec, avcodec_alloc_context3) \
    X(avcodec, avcodec_find_decoder) \
    X(avcodec, avcodec_find_encoder_by_name) \
    X(avcodec, avcodec_free_context) \
    X(avcodec, avcodec_open2) \
    X(avcodec, avcodec_get_name) \
    X(avcodec, avcodec_parameters_from_context) \
    X(avcodec, avcodec_parameters_to_context) \
    X(avcodec, avcodec_receive_frame) \
    X(avcodec, avcodec_receive_packet) \
    X(avcodec, avcodec_send_frame) \
    X(avcodec, avcodec_send_packet) \
    X(avformat, av_find_input_format) \
    X(avformat, av_read_frame) \
    X(avformat, av_write_frame) \
    X(avformat, av_write_trailer) \
    X(avformat, avformat_alloc_context) \
    X(avformat, avformat_alloc_output_context2) \
    X(avformat, avformat_close_input) \
    X(avformat, avformat_free_context) \
    X(avformat, avformat_new_stream) \
    X(avformat, avformat_open_input) \
    X(avformat, avformat_write_header) \
    X(avformat, avio_alloc_context) \
    X(avformat, avio_context_free) \
    X(avformat, avio_flush)

#define RECITAL_DECLARE(library, function) __typeof__(function) *function;
struct recital_libav {
    RECITAL_LIBAV(RECITAL_DECLARE)
};
#undef RECITAL_DECLARE

// Valid after recital_open_libraries has returned NULL.
extern struct recital_libav libav;

#endif
