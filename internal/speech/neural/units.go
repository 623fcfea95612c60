package neural

import "github.com/recital-tts/recital/internal/speech"

// units limits what a model speaks in one run. Zero means unlimited.
type units struct {
	words   int     // if there are several clauses
	symbols int     // including spaces
	pause   float64 // seconds; the run ends after a clause with a longer pause
}

// next returns the number of clauses in the next run.
func (u units) next(clauses []clause) int {
	words, symbols := 0, 0
	for i, c := range clauses {
		words, symbols = words+len(c.words), symbols+c.symbols()
		if i > 0 && (words > u.words || u.symbols > 0 && symbols > u.symbols) {
			return i
		}
		long := u.pause > 0 && c.pause() != speech.OwnPause && c.pause() > u.pause
		if c.endsSentence() || long {
			return i + 1
		}
	}
	return len(clauses)
}

// cut splits clauses that are too long for one run between words, and splits words that are too long.
func (u units) cut(clauses []clause) (short []clause) {
	if u.symbols == 0 {
		return clauses
	}
	for _, c := range clauses {
		piece := c
		piece.words, piece.ends, piece.mark = nil, false, 0
		for _, w := range u.cutWords(c.words) {
			if n := piece.symbols() + len([]rune(w.spelling)) + 1; n > u.symbols {
				short = append(short, piece)
				piece.words = nil
			}
			piece.words = append(piece.words, w)
		}
		c.words = piece.words
		short = append(short, c)
	}
	return short
}

func (u units) cutWords(words []word) (short []word) {
	for _, w := range words {
		spelling := []rune(w.spelling)
		for len(spelling) >= u.symbols {
			short = append(short, word{rune: w.rune, spelling: string(spelling[:u.symbols-1])})
			spelling = spelling[u.symbols-1:]
		}
		w.spelling = string(spelling)
		short = append(short, w)
	}
	return short
}

// symbols returns the number of symbols in the clause's words, with a space after each.
func (c clause) symbols() (count int) {
	for _, w := range c.words {
		count += len([]rune(w.spelling)) + 1
	}
	return count
}
