package reporttest

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// errUnasked means that a reference is not part of the report.
var errUnasked = errors.New("the report is not about it")

// voices returns the references on this machine, and the names of the missing ones.
func voices(ctx context.Context, rate int, root string) (references []reference, missing []string) {
	for _, name := range []string{"slt", "rms", "awb", "kal16"} {
		if !strings.Contains("flite "+name, *only) {
			continue
		}
		r, err := fliteVoice(ctx, rate, name)
		if err != nil {
			missing = append(missing, "ffmpeg with flite's "+name)
			continue
		}
		references = append(references, r)
	}
	for _, language := range []string{"en", "es", "fr", "it", "ru"} {
		for _, kind := range []string{wideband, telephone} {
			r, err := prompts(ctx, rate, root, language, kind)
			if errors.Is(err, errUnasked) {
				continue
			}
			if err != nil {
				missing = append(missing, fmt.Sprintf("asterisk-core-sounds-%s and asterisk-core-sounds-%[1]s-%s: %v",
					language, kind[1:], err))
				continue
			}
			references = append(references, r)
		}
	}
	return references, missing
}

// fliteVoice returns a voice of flite from ffmpeg, with six given and six held-out sentences.
func fliteVoice(ctx context.Context, rate int, name string) (r reference, err error) {
	sentences := linesOf("sentences.txt")
	r = reference{name: "flite " + name, accent: "en-US", texts: sentences[6:], judgedAt: rate}
	for i, text := range sentences {
		samples, err := convert(ctx, rate, "-f", "lavfi", "-i", "flite=voice="+name+":text='"+text+"'")
		if err != nil {
			return r, err
		}
		if i < 6 {
			r.given = append(r.given, samples)
		} else {
			r.heldOut = append(r.heldOut, samples)
		}
	}
	return r, nil
}

// The limits of the letters of used prompts of asterisk, which were spoken by people: shorter ones are single words.
// They are wideband, with their texts in the documentation of their package. Neighbouring prompts are similar, so they
// are held out and given in turn.
const (
	shortestPrompt, longestPrompt = 20, 140
	leastPrompts                  = 24
)

func prompts(ctx context.Context, rate int, root, language, kind string) (reference, error) {
	folder, err := promptFolder(root, language, kind)
	if err != nil {
		return reference{}, err
	}
	texts, err := readTexts(root, language)
	if err != nil {
		return reference{}, err
	}
	r := reference{name: filepath.Base(folder), judgedAt: rate}
	r.accent = strings.ReplaceAll(r.name[:len("en_US")], "_", "-")
	if kind == telephone {
		r.name, r.judgedAt = r.name+", 8 kHz", telephoneRate
	}
	if !strings.Contains(r.name, *only) {
		return r, errUnasked
	}
	toHold := false
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !isUsable(texts[name]) {
			continue
		}
		at := rate
		if !toHold {
			at = r.judgedAt
		}
		samples, err := convert(ctx, at, "-i", filepath.Join(folder, name+kind))
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

// isUsable reports whether a text is a complete phrase or sentence. A question mark before its end stands for a lost
// letter.
func isUsable(text string) bool {
	letters := utf8.RuneCountInString(text)
	return letters >= shortestPrompt && letters <= longestPrompt &&
		!strings.ContainsAny(strings.TrimSuffix(text, "?"), "[(<*#?")
}

// The kinds of prompts. Those of a telephone are compared with voices at a telephone's bandwidth.
const (
	wideband      = ".g722"
	telephone     = ".wav"
	telephoneRate = 8000 // Hz
)

// promptFolder returns the folder of a language's prompts. Other packages have theirs in the same parent.
func promptFolder(root, language, kind string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "usr/share/asterisk/sounds", language+"_*", "*"+kind))
	if err != nil || len(files) == 0 {
		return "", errors.New("there are no prompts")
	}
	return filepath.Dir(files[0]), nil
}

// readTexts returns the texts of the prompts in a language by their names.
func readTexts(root, language string) (map[string]string, error) {
	name := "core-sounds-" + language
	file, err := os.Open(filepath.Join(root, "usr/share/doc/asterisk-"+name, name+".txt.gz"))
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
