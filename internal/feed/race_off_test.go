//go:build !race

package feed

const raceDetected = false
