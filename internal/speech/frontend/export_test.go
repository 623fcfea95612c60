package frontend

// Work returns how many bytes the rules were given to look at to find the spans of a text, and how many states the
// filter of its language has.
func Work(text, language string) (bytes, states int) {
	l := localeOf(language)
	s := scanner{text: text, locale: l, language: language}
	s.run()
	return s.work, len(l.filter().states)
}

// Missed returns the patterns that match somewhere in a text where the filter of its language does not name them, or
// match something else in the part of the text that the filter leaves them.
func Missed(text, language string) (patterns []string) {
	l := localeOf(language)
	for at := range text {
		rest := (&scanner{text: text, at: at}).rest()
		c := l.filter().candidates(rest)
		for i, r := range l.rules {
			want := r.pattern.FindString(rest)
			if want != "" && r.pattern.FindString(rest[:c.reach[i]]) != want {
				patterns = append(patterns, r.pattern.String())
			}
		}
	}
	return patterns
}
