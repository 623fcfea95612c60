package neuraltest

import "math/rand/v2"

// Activity is the environment variable that names Silero's model of voice activity.
const Activity = "RECITAL_TEST_ACTIVITY"

// ToyActivity returns a model of voice activity with Silero's inputs and outputs, to which all loud windows are speech.
func ToyActivity() []byte {
	m := &model{random: rand.New(rand.NewPCG(1, 2))}
	m.node("Abs", []string{"input"}, []string{"levels"})
	m.node("ReduceMax", []string{"levels"}, []string{"output"}, intsAttribute("axes", 1), intAttribute("keepdims", 1))
	m.node("Identity", []string{"state"}, []string{"stateN"})
	m.value(11, "input", 1, 2)
	m.value(11, "state", 1, 3)
	m.value(11, "sr", 7, 1)
	m.value(12, "output", 1, 2)
	m.value(12, "stateN", 1, 3)
	return m.file()
}
