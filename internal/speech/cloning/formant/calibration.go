package formant

import (
	"strings"

	"github.com/recital-tts/recital/internal/speech"
)

// reading is what a candidate says.
type reading struct{ language, text string }

// calibration is in the language of the speaker, where that is known: pitch, pace, vowels and spectrum of a voice are not
// those of another language. Otherwise it is in several languages, so that none is far off. None
// of the sentences is among those by which clones are judged.
type calibration struct {
	brief []reading // suffices to choose a variant
	whole []reading
}

const (
	briefly   = 2 // sentences of a language
	brieflyIn = 3 // languages
	unknownIn = 5 // languages for a speaker whose own is not known
)

// calibrationFor returns the calibration for a speaker with an accent, as the client calls it: a code of a language, with
// or without region, or what contains its English name.
func calibrationFor(accent string) calibration {
	if language, texts := languageOf(accent); texts != nil {
		return calibration{
			brief: []reading{{language, strings.Join(texts[:briefly], " ")}}, whole: []reading{{language, strings.Join(texts, " ")}},
		}
	}
	var all calibration
	for i, s := range scripts()[:unknownIn] {
		all.whole = append(all.whole, reading{s.language, s.texts[i%len(s.texts)]})
	}
	all.brief = all.whole[:brieflyIn]
	return all
}

// languageOf returns the engine's language of an accent with its sentences, and nil without any.
func languageOf(accent string) (language string, texts []string) {
	accent = strings.ToLower(strings.TrimSpace(accent))
	language, known := speech.LookupLanguage(accent)
	for _, s := range scripts() {
		switch {
		case known && base(language) == base(s.language):
			return language, s.texts
		case !known && strings.Contains(accent, s.name):
			return s.language, s.texts
		}
	}
	return "", nil
}

// base returns a language without its region.
func base(language string) string {
	base, _, _ := strings.Cut(language, "-")
	return base
}

// script is what candidates say in a language.
type script struct {
	language string // the engine's code
	name     string
	texts    []string
}

// scripts returns the same sentences in each language.
func scripts() []script {
	return []script{
		{"en-us", "english", []string{
			"A thin blue smoke rose above the quiet valley, while the children were chasing their dog around the pond.",
			"Every morning she walks to the village shop and buys two loaves of bread.",
			"Could you please close the window?",
			"My uncle George fixed the engine of his old boat last summer.",
			"They have thought about it for years, but nobody knew how to measure the pressure.",
			"Just push the large red button twice, and wait.",
			"The garden behind our house is full of yellow flowers.",
		}},
		{"ru", "russian", []string{
			"Тонкий синий дым поднимался над тихой долиной, пока дети гонялись за своей собакой вокруг пруда.",
			"Каждое утро она идёт в деревенскую лавку и покупает две буханки хлеба.",
			"Не могли бы вы закрыть окно?",
			"Мой дядя Георгий прошлым летом починил мотор своей старой лодки.",
			"Они думали об этом много лет, но никто не знал, как измерить давление.",
			"Просто дважды коснитесь большой красной кнопки и подождите.",
			"Сад за нашим домом полон жёлтых цветов.",
		}},
		{"fr-fr", "french", []string{
			"Une mince fumée bleue montait au-dessus de la vallée tranquille, pendant que les enfants couraient après leur chien autour de l'étang.",
			"Chaque matin, elle marche jusqu'à la boutique du village et achète deux pains.",
			"Pourriez-vous fermer la fenêtre?",
			"Mon oncle Georges a réparé le moteur de son vieux bateau l'été dernier.",
			"Ils y ont pensé pendant des années, mais personne ne savait mesurer la pression.",
			"Touchez simplement deux fois le grand bouton rouge, et attendez.",
			"Le jardin derrière notre maison est plein de fleurs jaunes.",
		}},
		{"es", "spanish", []string{
			"Un delgado humo azul subía sobre el valle tranquilo, mientras los niños perseguían a su perro alrededor del estanque.",
			"Cada mañana camina hasta la tienda del pueblo y compra dos panes.",
			"¿Podría cerrar la ventana?",
			"Mi tío Jorge arregló el motor de su viejo barco el verano pasado.",
			"Lo han pensado durante años, pero nadie sabía cómo medir la presión.",
			"Toque dos veces el botón rojo y grande, y espere.",
			"El jardín detrás de nuestra casa está lleno de flores amarillas.",
		}},
		{"de", "german", []string{
			"Ein dünner blauer Rauch stieg über dem stillen Tal auf, während die Kinder ihren Hund um den Teich jagten.",
			"Jeden Morgen geht sie zum Laden im Dorf und kauft zwei Laibe Brot.",
			"Könnten Sie bitte das Fenster schließen?",
			"Mein Onkel Georg hat im letzten Sommer den Motor seines alten Bootes repariert.",
			"Sie haben jahrelang darüber nachgedacht, aber niemand wusste, wie man den Druck misst.",
			"Drücken Sie den großen roten Knopf einfach zweimal, und warten Sie.",
			"Der Garten hinter unserem Haus ist voller gelber Blumen.",
		}},
		{"it", "italian", []string{
			"Un sottile fumo azzurro saliva sopra la valle tranquilla, mentre i bambini rincorrevano il loro cane intorno allo stagno.",
			"Ogni mattina va a piedi al negozio del paese e compra due pagnotte.",
			"Potrebbe chiudere la finestra?",
			"Mio zio Giorgio ha riparato il motore della sua vecchia barca l'estate scorsa.",
			"Ci hanno pensato per anni, ma nessuno sapeva come misurare la pressione.",
			"Basta toccare due volte il grande bottone rosso, e aspettare.",
			"Il giardino dietro la nostra casa è pieno di fiori gialli.",
		}},
		{"pt-br", "portuguese", []string{
			"Uma fina fumaça azul subia sobre o vale tranquilo, enquanto as crianças corriam atrás do cachorro em volta do lago.",
			"Toda manhã ela caminha até a loja da vila e compra dois pães.",
			"Poderia fechar a janela?",
			"Meu tio Jorge consertou o motor do seu velho barco no verão passado.",
			"Eles pensaram nisso durante anos, mas ninguém sabia medir a pressão.",
			"Basta tocar duas vezes no grande botão vermelho e esperar.",
			"O jardim atrás da nossa casa está cheio de flores amarelas.",
		}},
		{"pl", "polish", []string{
			"Cienki niebieski dym unosił się nad cichą doliną, a dzieci goniły swojego psa wokół stawu.",
			"Każdego ranka chodzi do wiejskiego sklepu i kupuje dwa bochenki chleba.",
			"Czy mogłaby pani zamknąć okno?",
			"Mój wujek Jerzy naprawił zeszłego lata silnik swojej starej łodzi.",
			"Myśleli o tym przez lata, ale nikt nie wiedział, jak zmierzyć ciśnienie.",
			"Wystarczy dwa razy dotknąć dużego czerwonego guzika i poczekać.",
			"Ogród za naszym domem jest pełen żółtych kwiatów.",
		}},
		{"nl", "dutch", []string{
			"Een dunne blauwe rook steeg op boven het stille dal, terwijl de kinderen hun hond rond de vijver achternazaten.",
			"Elke ochtend loopt ze naar de winkel in het dorp en koopt twee broden.",
			"Kunt u alstublieft het raam sluiten?",
			"Mijn oom Joris heeft vorige zomer de motor van zijn oude boot gemaakt.",
			"Ze hebben er jaren over nagedacht, maar niemand wist hoe je de druk moest meten.",
			"Druk gewoon twee keer op de grote rode knop, en wacht.",
			"De tuin achter ons huis staat vol gele bloemen.",
		}},
	}
}
