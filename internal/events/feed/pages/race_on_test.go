//go:build race

package pages

// raceDetected reports that the test runs many times slower, which exceeds the time limits of Watermill's suite.
const raceDetected = true
