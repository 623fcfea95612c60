package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

func givenSentences() []string {
	return []string{
		"The quick brown fox jumps over the lazy dog while seven wizards watch from the old stone wall.",
		"Please call me back tomorrow morning, because the meeting has been moved to half past nine.",
		"She sells fresh bread, cheese and honey at the small market near the river every Saturday.",
		"A long time ago, in a quiet village by the sea, there lived a fisherman and his daughter.",
		"If you are not sure which train to take, ask the man in the blue uniform at platform two.",
		"Our new office opens in March, and everybody who works on the project is invited to come.",
	}
}

func heldOutSentences() []string {
	return []string{
		"The weather will be cold and windy, with some rain in the north and sunshine in the south.",
		"He closed the door, took off his coat, and sat down beside the fire without saying a word.",
		"Children learn to read more easily when someone reads aloud to them for a few minutes each day.",
		"Turn left after the bridge, drive straight on for two miles, and you will see the house.",
		"Nobody knew why the lights went out, but the music kept playing until the early morning.",
		"Modern telescopes collect so much data that no human being could ever look at all of it.",
	}
}

// voices returns the references that there are on this machine, and the names of those that are missing.
func voices(ctx context.Context, rate int, root string) (references []reference, missing []string) {
	for _, name := range []string{"slt", "rms", "awb", "kal16"} {
		r, err := fliteVoice(ctx, rate, name)
		if err != nil {
			missing = append(missing, "ffmpeg with flite's "+name)
			continue
		}
		references = append(references, r)
	}
	for _, language := range []string{"en", "es", "fr", "it", "ru"} {
		r, err := prompts(ctx, rate, root, language)
		if err != nil {
			missing = append(missing, "asterisk-core-sounds-"+language+" and asterisk-core-sounds-"+language+"-g722: "+err.Error())
			continue
		}
		references = append(references, r)
	}
	return references, missing
}

func fliteVoice(ctx context.Context, rate int, name string) (reference, error) {
	r := reference{name: "flite " + name, accent: "en-US", texts: heldOutSentences()}
	say := func(text string) ([]int16, error) {
		return convert(ctx, rate, "-f", "lavfi", "-i", "flite=voice="+name+":text='"+text+"'")
	}
	for _, text := range givenSentences() {
		samples, err := say(text)
		if err != nil {
			return r, err
		}
		r.given = append(r.given, samples)
	}
	for _, text := range r.texts {
		samples, err := say(text)
		if err != nil {
			return r, err
		}
		r.heldOut = append(r.heldOut, samples)
	}
	return r, nil
}

// Of asterisk's prompts, which people have spoken, all those are used that have so many letters: what is shorter is a word.
// They are in wideband, and their texts in the documentation of their package. Prompts that are next to each other are
// alike, so they are held out and given in turn.
const (
	leastLetters, mostLetters = 20, 140
	leastPrompts              = 24
)

func prompts(ctx context.Context, rate int, root, language string) (reference, error) {
	folder, err := promptFolder(root, language)
	if err != nil {
		return reference{}, err
	}
	name := "core-sounds-" + language
	texts, err := readTexts(filepath.Join(root, "usr/share/doc/asterisk-"+name, name+".txt.gz"))
	if err != nil {
		return reference{}, err
	}
	r := reference{name: filepath.Base(folder)}
	r.accent = strings.ReplaceAll(r.name[:len("en_US")], "_", "-")
	toHold := false
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !isUsable(texts[name]) {
			continue
		}
		samples, err := convert(ctx, rate, "-i", filepath.Join(folder, name+wideband))
		if err != nil {
			continue // a text without a recording
		}
		if toHold = !toHold; toHold {
			r.texts, r.heldOut = append(r.texts, texts[name]), append(r.heldOut, samples)
		} else {
			r.given = append(r.given, samples)
		}
	}
	if len(r.texts) < leastPrompts {
		return r, errors.New("there are too few prompts")
	}
	return r, nil
}

// isUsable reports whether a text is a phrase or a sentence, and says what is spoken: a question mark before its end is
// a letter that was lost.
func isUsable(text string) bool {
	letters := utf8.RuneCountInString(text)
	return letters >= leastLetters && letters <= mostLetters && !strings.ContainsAny(strings.TrimSuffix(text, "?"), "[(<*#?")
}

const wideband = ".g722"

// promptFolder returns that with the wideband prompts of a language: other packages put theirs beside it.
func promptFolder(root, language string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "usr/share/asterisk/sounds", language+"_*", "*"+wideband))
	if err != nil || len(files) == 0 {
		return "", errors.New("there are no prompts")
	}
	return filepath.Dir(files[0]), nil
}

// readTexts returns the texts of prompts by their names.
func readTexts(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		name, text, found := strings.Cut(lines.Text(), ": ")
		if found && utf8.ValidString(text) && !strings.HasPrefix(name, ";") {
			texts[name] = strings.TrimSpace(text)
		}
	}
	return texts, lines.Err()
}
