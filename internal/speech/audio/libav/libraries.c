#include "encoder.h"
#include "libraries.h"

#include <dlfcn.h>

struct recital_libav libav;

// The version of the headers, as the linker would use it.
#define SONAME(library, major) "lib" library ".so." AV_STRINGIFY(major)

const char *recital_open_libraries(void) {
    void *avutil = dlopen(SONAME("avutil", LIBAVUTIL_VERSION_MAJOR), RTLD_NOW);
    void *swresample = avutil ? dlopen(SONAME("swresample", LIBSWRESAMPLE_VERSION_MAJOR), RTLD_NOW) : NULL;
    void *avcodec = swresample ? dlopen(SONAME("avcodec", LIBAVCODEC_VERSION_MAJOR), RTLD_NOW) : NULL;
    void *avformat = avcodec ? dlopen(SONAME("avformat", LIBAVFORMAT_VERSION_MAJOR), RTLD_NOW) : NULL;
    if (!avformat)
        return dlerror();

#define FIND(library, function)                                                                                        \
    if (!(libav.function = (__typeof__(libav.function))dlsym(library, #function)))                                     \
        return dlerror();
    RECITAL_LIBAV(FIND)
    return NULL;
}
