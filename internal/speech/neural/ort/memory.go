package ort

// #include <stdlib.h>
// #ifdef __GLIBC__
// #include <malloc.h>
// #endif
//
// static void release_memory(void) {
// #ifdef __GLIBC__
//     malloc_trim(0);
// #endif
// }
import "C"

// ReleaseMemory returns the C library's free memory to the system, a few megabytes after models were loaded.
func ReleaseMemory() { C.release_memory() }
