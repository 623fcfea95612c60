package ort

// #include <malloc.h>
import "C"

import "runtime/debug"

// FreeMemory gives memory that is in no use, as after models were loaded, back to the system: Go's and C's.
func FreeMemory() {
	debug.FreeOSMemory()
	C.malloc_trim(0)
}
