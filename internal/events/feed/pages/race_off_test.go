//go:build !race

package pages

const raceDetected = false
