package speech

import "github.com/recital-tts/recital/commands"

// keepsake is what a clip remembers of the request beside what is spoken; nil where the result shall not be saved.
func (r request) keepsake() *commands.Keepsake {
	if r.Debug == nil || !*r.Debug {
		return nil
	}
	return &commands.Keepsake{
		Debug:            true,
		OriginalText:     orEmpty(r.OriginalText),
		OriginalLanguage: orEmpty(r.OriginalLanguage),
	}
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
