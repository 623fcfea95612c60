package ort

// #include <malloc.h>
import "C"

import "os"

func init() {
	if os.Getenv("ZMAX") != "" {
		C.mallopt(C.M_ARENA_MAX, 1)
	}
	if os.Getenv("ZMMAP") != "" {
		C.mallopt(C.M_MMAP_THRESHOLD, 1<<25)
		C.mallopt(C.M_TRIM_THRESHOLD, 1<<28)
	}
}

func Trim() {
	if os.Getenv("ZTRIM") != "" {
		C.malloc_trim(0)
	}
}
