package worker_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
)

// The pronunciation of languages with reading tables is checked by the engine's phonemes.
func TestTabledLanguagesAreHeardAsTheyAreMeant(t *testing.T) {
	pool := openPool(t, 2)
	engine := speech.WithFrontEnd(pool, nil)
	heard := func(engine speech.Engine, language, text string) string {
		phonemes, _ := heardOf(t, engine, speech.Job{Text: text, Language: language})
		return phonemes
	}
	for _, test := range []struct{ language, text, meant string }{
		{"de", "Am 3. Oktober.", "Am dritten Oktober."},
		{"de", "Der 3. Oktober.", "Der dritte Oktober."},
		{"de", "Im Jahr 1987.", "Im Jahr neunzehnhundertsiebenundachtzig."},
		{"de", "Es kostet 12,50 €.", "Es kostet zwölf Euro fünfzig."},
		{"de", "Um 14:05 Uhr.", "Um vierzehn Uhr fünf."},
		{"de", "Nach 1 Stunde, ggf.", "Nach einer Stunde, gegebenenfalls."},
		{"fr-fr", "Mme Roux, le 1er mai.", "Madame Roux, le premier mai."},
		{"fr-fr", "Il coûte 5,50 €.", "Il coûte cinq euros cinquante."},
		{"es", "La Sra. Gil, 21 páginas.", "La señora Gil, veintiuna páginas."},
		{"es-419", "El 1/5/2020.", "El primero de mayo de dos mil veinte."},
		{"it", "Nel XX secolo, alle 14.30.", "Nel ventesimo secolo, alle quattordici e trenta."},
		{"pt", "Em 16 dias.", "Em dezasseis dias."},
		{"pt-br", "R$ 2,50.", "Dois reais e cinquenta centavos."},
		{"nl", "Op 3 mei 1987, 22 km/u.", "Op drie mei negentienhonderdzevenentachtig, tweeëntwintig kilometer per uur."},
		{"pl", "O 17:00, 3 maja.", "O siedemnastej, trzeciego maja."},
		{"ru", "В 1990 году 21 рубль.", "В тысяча девятьсот девяностом году двадцать один рубль."},
	} {
		meant := strings.ReplaceAll(heard(pool, test.language, test.meant), " | ", " ")
		require.Equal(t, meant, heard(engine, test.language, test.text), test.text)
	}
	require.NotEqual(t, heard(pool, "it", "Alle 14.30."), heard(engine, "it", "Alle 14.30."))
}
