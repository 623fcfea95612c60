//go:build race

package pages

// raceDetected says that everything is many times slower, which the time limits of Watermill's suite do not allow for.
const raceDetected = true
