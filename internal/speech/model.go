package speech

// The models that clients request by name. They are manners of speaking and, in American English, a choice of engine.
const (
	ModelAurora           = "aurora"            // the default engine, in the voice's own way
	ModelBlizzard         = "blizzard"          // the newest blizzard
	ModelBlizzard20       = "blizzard-2.0"      // the second engine, calm
	ModelBlizzard21       = "blizzard-2.1"      // the second engine, in the voice's own way
	ModelBlizzardDialogue = "blizzard-dialogue" // the second engine, in conversational style
)

// secondEngineLanguage is the only language of the second engine.
const secondEngineLanguage = "en-us"

// usesSecondEngine reports whether a model uses the second engine for a language.
func usesSecondEngine(model, language string) bool {
	return language == secondEngineLanguage && model != "" && model != ModelAurora
}
