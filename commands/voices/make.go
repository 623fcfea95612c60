package voices

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain/voice"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/http/spool"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/speech/cloning"
)

// The names of the to-do lists of voices that are being made.
const (
	PrepareProcess = "prepare_voice"
	TrainProcess   = "train_voice"
)

const (
	// decodedRate is the sample rate of decoded recordings in Hz: the engines speak up to 11 kHz.
	decodedRate = 24_000
	// filesEach is the number of spool files for a voice in the making: a recording as received, and decoded.
	filesEach       = 2
	maxKeptAnalysis = 2*cloning.MaxAnalysisBytes + 4096 // as JSON, in bytes
)

// Prepare examines the recordings of a voice. It makes an instant voice, and queues a professional one for its
// training. It returns a *todo.NotYetError until that is done.
func (v *Voices) Prepare(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
	return v.preparing.watch(ctx, id, func(ctx context.Context) (eventlog.Position, error) {
		m, err := v.begin(ctx, id, cause)
		if err != nil || m.state.Phase != voice.Preparing || m.state.Deleted {
			return m.position, err
		}
		err = v.preparing.within(m.state.Account, func() error {
			if m.state.Type == voice.Professional {
				return m.queue(ctx)
			}
			return m.make(ctx, 0)
		})
		return m.position, err
	})
}

// Train trains a professional voice. It continues an earlier attempt, and returns a *todo.NotYetError until the
// training is done.
func (v *Voices) Train(ctx context.Context, id string, cause uuid.UUID) (eventlog.Position, error) {
	return v.training.watch(ctx, id, func(ctx context.Context) (eventlog.Position, error) {
		m, err := v.begin(ctx, id, cause)
		if err != nil {
			return m.position, err
		}
		if err := m.do(ctx, voice.BeginTraining{At: v.now()}); err != nil || m.state.Phase != voice.Training ||
			m.state.Deleted {
			return m.position, err
		}
		err = v.training.within(m.state.Account, func() error { return m.make(ctx, v.Limits.Training) })
		return m.position, err
	})
}

// making is a voice that is being made, with the state of its stream.
type making struct {
	*Voices
	id       string
	origin   journal.Origin
	state    voice.State
	position eventlog.Position
}

func (v *Voices) begin(ctx context.Context, id string, cause uuid.UUID) (*making, error) {
	m := &making{Voices: v, id: id, origin: journal.CausedBy(cause)}
	var err error
	m.state, m.position, err = v.load(ctx, id)
	return m, err
}

func (m *making) do(ctx context.Context, c command) error {
	state, position, err := m.Voices.do(ctx, m.id, c, m.origin)
	if err == nil {
		m.state, m.position = state, position
	}
	return err
}

// wanted reports whether the voice is still to be made.
func (m *making) wanted() bool { return m.state.Unfinished() }

// giveUp records that the recordings are unusable if an error means that, and returns other errors.
func (m *making) giveUp(ctx context.Context, recording int, err error) error {
	b := voice.Break{At: m.now()}
	var unfit *cloning.UnusableError
	var unusable *audio.UnusableError
	switch {
	case errors.As(err, &unusable):
		b.Reason, b.Message = string(unusable.Fault), unusable.Message
	case errors.As(err, &unfit):
		b.Reason, b.Message = "unsuitable", unfit.Reason
	default:
		return err
	}
	if recording >= 0 && len(m.state.Recordings) > 1 {
		b.Message = fmt.Sprintf("File %d: %s", recording+1, b.Message)
	}
	return m.do(ctx, b)
}

// queue measures the length of a professional voice's recordings, and queues the voice.
func (m *making) queue(ctx context.Context) error {
	var lengths []int64
	var whole time.Duration
	for i := range m.state.Recordings {
		pcm, err := m.decode(ctx, i, m.Limits.Longest-whole)
		if err != nil {
			return m.giveUp(ctx, i, err)
		}
		length := lengthOf(pcm.Size())
		pcm.Close()
		whole += length
		lengths = append(lengths, length.Milliseconds())
	}
	if whole < m.Limits.Training {
		return m.giveUp(ctx, -1, m.tooLittle(whole))
	}
	return m.do(ctx, voice.Queue{Lengths: lengths, At: m.now()})
}

func (m *making) tooLittle(speech time.Duration) error {
	return &cloning.UnusableError{Reason: fmt.Sprintf(
		"A professional voice needs %d minutes of speech, and the files have %d minutes and %d seconds of it",
		int(m.Limits.Training.Minutes()), int(speech.Minutes()), int(speech.Seconds())%60)}
}

// make analyses the remaining recordings, and fits the voice. It requires a minimum of speech.
func (m *making) make(ctx context.Context, atLeast time.Duration) error {
	var before time.Duration
	for i := range m.state.Recordings {
		length, err := m.analyse(ctx, i, before)
		if err != nil {
			return m.giveUp(ctx, i, err)
		}
		if !m.wanted() {
			return nil
		}
		before += length
	}
	if speech := m.state.Speech(); speech < atLeast {
		return m.giveUp(ctx, -1, m.tooLittle(speech))
	}
	return m.giveUp(ctx, -1, m.fit(ctx))
}

// analyse analyses a recording, stretch by stretch, and returns its length. before is the length of the earlier ones.
func (m *making) analyse(ctx context.Context, recording int, before time.Duration) (time.Duration, error) {
	if length, known := m.analysed(recording); known {
		return length, nil
	}
	pcm, err := m.decode(ctx, recording, m.Limits.Longest-before)
	if err != nil {
		return 0, err
	}
	defer pcm.Close()
	length := lengthOf(pcm.Size())
	for from := time.Duration(0); from < length && m.wanted(); from += m.step() {
		if _, known := m.state.Find(recording, from.Milliseconds()); known {
			continue
		}
		if err := m.analyseStretch(ctx, recording, pcm, from, min(m.step(), length-from)); err != nil {
			return 0, err
		}
	}
	return length, nil
}

// step returns the length of a stretch: the whole recording for an instant voice.
func (m *making) step() time.Duration {
	if m.state.Type == voice.Instant {
		return math.MaxInt64 / 2
	}
	return m.Limits.Stretch
}

// analysed returns the length of a recording if all of it was analysed.
func (m *making) analysed(recording int) (time.Duration, bool) {
	if m.state.Type == voice.Instant {
		a, known := m.state.Find(recording, 0)
		return time.Duration(a.Length) * time.Millisecond, known
	}
	length := time.Duration(m.state.Lengths[recording]) * time.Millisecond
	for from := time.Duration(0); from < length; from += m.step() {
		if _, known := m.state.Find(recording, from.Milliseconds()); !known {
			return 0, false
		}
	}
	return length, true
}

// stretches returns the number of stretches of all recordings.
func (m *making) stretches() int {
	if m.state.Type == voice.Instant {
		return len(m.state.Recordings)
	}
	n := 0
	for _, length := range m.state.Lengths {
		n += int((length + m.step().Milliseconds() - 1) / m.step().Milliseconds())
	}
	return n
}

// kept is the stored form of an analysis.
type kept struct {
	Report cloning.Report `json:"report"`
	Data   []byte         `json:"data"`
}

func (m *making) analyseStretch(ctx context.Context, recording int, pcm *spool.File, from, length time.Duration) error {
	samples := io.NewSectionReader(pcm, bytesOf(from), bytesOf(length))
	options := cloning.Options{Enhance: m.state.Enhance, Filter: m.state.Filter}
	analysis, err := m.Cloner.Analyse(ctx, cloning.Recording{PCM: samples, Rate: decodedRate}, options)
	if err != nil {
		return fmt.Errorf("analysing a recording: %w", err)
	}
	content, err := json.Marshal(kept(analysis))
	if err != nil {
		return fmt.Errorf("encoding an analysis: %w", err)
	}
	blob, err := m.put(ctx, m.state.Account, m.id, bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return fmt.Errorf("keeping an analysis: %w", err)
	}
	found := voice.Analysis{
		Recording: recording, From: from.Milliseconds(), Length: length.Milliseconds(),
		Speech: int64(analysis.Report.SpeechSeconds * 1000), Blob: string(blob.Address),
	}
	if err := m.do(ctx, voice.RecordAnalysis{Analysis: found, Total: m.stretches(), At: m.now()}); err != nil {
		return err
	}
	if !m.state.Needs(found.Blob) { // another instance was first, or the voice is deleted
		m.remove(ctx, found.Blob)
	}
	return nil
}

// fit makes the voice from all analyses.
func (m *making) fit(ctx context.Context) error {
	analyses, err := m.analyses(ctx)
	if err != nil {
		return err
	}
	profile, err := m.profile(ctx, m.state)
	if err != nil {
		return err
	}
	model, err := m.Cloner.Fit(ctx, analyses, cloning.Profile{Gender: profile.Gender, Accent: profile.Accent}, nil)
	if err != nil {
		return fmt.Errorf("fitting a voice: %w", err)
	}
	blob, err := m.put(ctx, m.state.Account, m.id, bytes.NewReader(model.Data), int64(len(model.Data)))
	if err != nil {
		return fmt.Errorf("keeping a model: %w", err)
	}
	made := voice.Model{Engine: model.Engine, Blob: string(blob.Address), SHA256: hashOf(model.Data), Bytes: blob.Size,
		Base: model.Base}
	if err := m.do(ctx, voice.Finish{Model: made, At: m.now()}); err != nil {
		return err
	}
	if !m.state.Needs(made.Blob) { // another instance was first, or the voice is deleted
		m.remove(ctx, made.Blob)
	}
	return nil
}

// analyses reads the stored analyses, in the order of the recordings.
func (m *making) analyses(ctx context.Context) (all []cloning.Analysis, err error) {
	for _, a := range m.state.InOrder() {
		content, err := m.read(ctx, m.state.Account, a.Blob, maxKeptAnalysis)
		if err != nil {
			return nil, fmt.Errorf("reading an analysis: %w", err)
		}
		var found kept
		if err := json.Unmarshal(content, &found); err != nil {
			return nil, fmt.Errorf("reading an analysis: %w", err)
		}
		all = append(all, cloning.Analysis(found))
	}
	return all, nil
}

// decode decodes a recording of limited length. The result must be closed.
func (m *making) decode(ctx context.Context, recording int, longest time.Duration) (pcm *spool.File, err error) {
	one := m.state.Recordings[recording]
	upload, err := m.collect("recording/"+m.id, func(w io.Writer) error { return m.fetch(ctx, one, w) })
	if err != nil {
		return nil, fmt.Errorf("fetching a recording: %w", err)
	}
	defer upload.Close()
	limits := audio.DecodeLimits{Rate: decodedRate, Bytes: m.Limits.Upload, Longest: max(longest, time.Second)}
	pcm, err = m.collect("decoded/"+m.id, func(w io.Writer) error {
		_, err := m.Decoder.Decode(ctx, upload, w, limits)
		return err
	})
	var unusable *audio.UnusableError
	if errors.As(err, &unusable) && unusable.Fault == audio.TooLong { // its message has the rest after earlier recordings
		return nil, &audio.UnusableError{
			Fault: audio.TooLong, Message: fmt.Sprintf("The recordings are longer than %s in all", m.Limits.Longest),
		}
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a recording: %w", err)
	}
	return pcm, nil
}

// collect returns a file of the spool with the output of fill.
func (v *Voices) collect(owner string, fill func(io.Writer) error) (*spool.File, error) {
	file, err := v.spool.Create(owner, 0)
	if err != nil {
		return nil, err
	}
	if err := fill(file); err != nil {
		file.Close()
		return nil, err
	}
	file.Finish()
	return file, nil
}

// fetch copies a recording from the store.
func (m *making) fetch(ctx context.Context, r voice.Recording, w io.Writer) error {
	content, err := m.sealed.Open(ctx, m.state.Account, blobs.Address(r.Blob), 0, r.Bytes)
	if err != nil {
		return err
	}
	defer content.Close()
	n, err := io.Copy(w, content)
	if err == nil && n != r.Bytes {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// lengthOf returns the duration of a number of bytes of decoded audio, in whole milliseconds. bytesOf is its inverse.
func lengthOf(bytes int64) time.Duration {
	return time.Duration(bytes/2*1000/decodedRate) * time.Millisecond
}

func bytesOf(length time.Duration) int64 { return length.Milliseconds() * decodedRate / 1000 * 2 }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
