package espeak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/speech"
	"github.com/recital-tts/recital/internal/speech/enginetest"
	"github.com/recital-tts/recital/internal/speech/worker"
	"github.com/recital-tts/recital/internal/speech/worker/workertest"
)

// TestSoakTexts tries hostile and plain texts in every language for the duration RECITAL_SOAK, and reports the shortest
// text that reproduces each crash. RECITAL_SOAK_LANGUAGES restricts it to some languages.
func TestSoakTexts(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("RECITAL_SOAK"))
	if err != nil {
		t.Skip("RECITAL_SOAK is not set to a duration")
	}
	languages := speech.EngineLanguages()
	if some := os.Getenv("RECITAL_SOAK_LANGUAGES"); some != "" {
		languages = strings.Split(some, ",")
	}
	pool := openPool(t, 2)
	end := time.Now().Add(length)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	next := make(chan string)
	var crashes crashLog
	var plain atomic.Int64
	var speakers sync.WaitGroup
	for speaker := range 2 {
		random := rand.New(rand.NewPCG(seed, uint64(speaker)))
		speakers.Go(func() {
			for language := range next {
				text := enginetest.HostileText(random)
				if letters := plainLetters[language]; letters != nil && random.IntN(3) > 0 {
					text = enginetest.PlainText(random, letters)
				}
				if !isRisky(language, text) {
					plain.Add(1)
				}
				if dies(t, pool, language, text) {
					crashes.add(language, shortest(t, pool, language, text))
				}
			}
		})
	}
	texts := 0
	for ; time.Now().Before(end); texts++ {
		next <- languages[texts%len(languages)]
	}
	close(next)
	speakers.Wait()
	t.Logf("%d texts, %d of them without a rehearsal, %d crashes", texts, plain.Load(), len(crashes.texts))
	require.Empty(t, crashes.texts)
}

type crashLog struct {
	mu    sync.Mutex
	texts []string
}

func (c *crashLog) add(language, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, fmt.Sprintf("%s %+q", language, text))
}

func openPool(t *testing.T, size int) *worker.Pool {
	t.Helper()
	binary, remove, err := workertest.Build()
	require.NoError(t, err)
	t.Cleanup(remove)
	pool, err := worker.Open(worker.Config{Command: workertest.Command(binary), Size: size})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

func dies(t *testing.T, pool *worker.Pool, language, text string) bool {
	job := enginetest.Job(text)
	job.Speed = speech.MaxSpeed // to try more of them
	job.Language = language
	_, err := enginetest.Speak(t.Context(), pool, job)
	return errors.Is(err, speech.ErrEngineFailed)
}

// shortest removes the parts of a text that its crash does not require.
func shortest(t *testing.T, pool *worker.Pool, language, whole string) string {
	text := []rune(whole)
	for size := len(text) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(text); {
			without := append(append([]rune{}, text[:at]...), text[at+size:]...)
			if dies(t, pool, language, string(without)) {
				text = without
				continue
			}
			at += size
		}
	}
	return string(text)
}
