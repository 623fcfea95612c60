//go:build race

package feed

// raceDetected tells that everything is many times slower, which the time limits of Watermill's suite do not allow for.
const raceDetected = true
