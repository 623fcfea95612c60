package synthesis_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/commands/clips"
	"github.com/recital-tts/recital/commands/clips/clipstest"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/synthesis"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/clip"
	"github.com/recital-tts/recital/domain/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/readmodel"
	"github.com/recital-tts/recital/internal/providers/blobs"
	"github.com/recital-tts/recital/internal/providers/blobs/blobtest"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/longtest"
	"github.com/recital-tts/recital/internal/testing/proptest"
)

// archive is a studio that saves results as clips, in a real folder, with a real keyring.
type archive struct {
	*studio
	*clipstest.Archive
	clips  *clips.Clips
	models *shownTo
	late   time.Duration // by which the clock of the clips is ahead
}

// shownTo records the last awaited read models, and the position.
type shownTo struct {
	models   []readmodel.Model
	position eventlog.Position
}

func (m *shownTo) Wait(_ context.Context, position eventlog.Position, models ...readmodel.Model) error {
	m.models, m.position = models, position
	return nil
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	a := &archive{studio: newStudio(t), Archive: clipstest.NewArchive(t), models: &shownTo{}}
	a.useStore(a.Store, commandstest.Patience)
	a.Synthesiser.ReadModels, a.Synthesiser.Logger = a.models, a.Logger()
	return a
}

// useStore saves clips in another store, with another deadline.
func (a *archive) useStore(store blobs.Store, timeout time.Duration) {
	a.clips = clips.New(clips.Config{
		Journal: a.Journal, Keys: a.Keys, Blobs: store, Spool: a.Synthesiser.Spool, SaveTimeout: timeout,
		Now: func() time.Time { return time.Now().Add(a.late) }, Logger: a.Logger(),
	})
	a.Synthesiser.Clips = a.clips
}

// keep is an order with a result that is saved as a clip.
func keep(id, text string, format audio.Format) synthesis.Synthesis {
	o := order(id, text, format)
	o.Save = synthesis.SaveOptions{Debug: true, OriginalText: "Es war einmal.", OriginalLanguage: "de"}
	return o
}

// saved returns the event of a clip.
func (a *archive) saved(id string) clip.Saved {
	a.T.Helper()
	events := commandstest.Fold[clip.Event](a.World, clip.Stream(id))
	require.Len(a.T, events, 1)
	return events[0].(clip.Saved)
}

// save speaks and saves a text, and returns the clip's id and the audio.
func (a *archive) save(account, text string) (id, sound string) {
	a.T.Helper()
	reply := a.begin(a.T.Context(), keep(account, text, audio.PCMS16LE))
	var got bytes.Buffer
	require.NoError(a.T, reply.Write(a.T.Context(), &got))
	return reply.Clip(), got.String()
}

func TestWhatWasHandedOverIsSaved(t *testing.T) {
	a := newArchive(t)
	ways := map[string]func(*synthesis.Reply, audio.Spec) string{
		"streamed": func(reply *synthesis.Reply, spec audio.Spec) string {
			var got bytes.Buffer
			require.NoError(t, reply.Write(t.Context(), &got))
			return string(audio.Whole(spec, got.Bytes())) // a file states its length, a stream cannot
		},
		"whole": func(reply *synthesis.Reply, _ audio.Spec) string {
			recording, err := reply.Whole(t.Context())
			require.NoError(t, err)
			return heard(t, recording)
		},
	}
	for name, take := range ways {
		for _, format := range []audio.Format{audio.MP3, audio.WAV, audio.ULaw, audio.PCMS16LE} {
			t.Run(name+" as "+string(format), func(t *testing.T) {
				// when a reply that is to be saved is delivered
				account := a.Open("indie")
				o := keep(account, story, format)
				o.Language, o.Speed, o.Seed, o.Model, o.Length = "auto", 1.5, 7, "aurora", 0
				o.Prosody.Temperature, o.Prosody.Solver = new(0.5), "any words"
				o.Whole = name == "whole"
				reply := a.begin(t.Context(), o)
				require.Equal(t, !o.Whole, reply.Clip() != "",
					"a client that waits for all of the audio learns whether there is a clip")
				sound := take(reply, o.Audio)
				require.True(t, clip.ValidID(reply.Clip()))

				// then the event describes the clip
				saved := a.saved(reply.Clip())
				require.Equal(t, sound, a.Read(saved.Account, saved.Blob))
				require.WithinDuration(t, time.Now(), saved.At, commandstest.Patience)
				require.Positive(t, saved.Milliseconds)
				if format == audio.PCMS16LE {
					require.InDelta(t, 1000*len(sound)/2/24000, saved.Milliseconds, 50, "milliseconds of samples")
				}
				require.Equal(t, clip.Saved{
					Clip: reply.Clip(), Account: account, Voice: "leah", Language: "en-us", Speed: 1.5, Format: string(format),
					SampleRate: 24000,
					MediaType:  format.ContentType(), Characters: int64(utf8.RuneCountInString(story)),
					Milliseconds: saved.Milliseconds,
					Blob:         saved.Blob, Bytes: int64(len(sound)), Seed: 7,
					Settings: clip.Settings{Model: "aurora", Temperature: new(0.5)},
					Debug:    true, Sealed: saved.Sealed, At: saved.At,
				}, saved)

				// and the text can be read only with the account's key
				content, err := a.Keys.Open(t.Context(), account, saved.Sealed, clip.SealedFor(reply.Clip()))
				require.NoError(t, err)
				var c clip.Content
				require.NoError(t, json.Unmarshal(content, &c))
				require.Equal(t, clip.Content{Text: story, OriginalText: "Es war einmal.", OriginalLanguage: "de",
					Solver: "any words"}, c)

				// and the reply has waited until both the characters and the clip are visible
				require.Equal(t, []readmodel.Model{readmodel.Usage, readmodel.Clips}, a.models.models)
				require.Equal(t, a.Last(clip.Stream(reply.Clip())).Position, a.models.position)
				require.EqualValues(t, utf8.RuneCountInString(story), a.Books(account).Settled)
			})
		}
	}
	require.Len(t, a.Files(), 4*len(ways), "a clip has one file")
	require.NotContains(t, a.Logged.String(), "Once upon")
}

func TestNothingIsSavedThatWasNotAskedFor(t *testing.T) {
	a := newArchive(t)
	reply := a.begin(t.Context(), order(a.Open("indie"), story, audio.MP3))
	require.Empty(t, reply.Clip())
	require.NoError(t, reply.Write(t.Context(), io.Discard))
	require.Equal(t, []readmodel.Model{readmodel.Usage}, a.models.models)
	require.Empty(t, a.Files())
}

// Speech with a session is always saved, and counted as the playground's.
func TestWhatASessionSpeaksIsKept(t *testing.T) {
	a := newArchive(t)
	account := a.Open("free")
	spoken := inBrowser(account, audio.MP3)
	spoken.Text = "Hello."
	reply := a.begin(t.Context(), spoken)
	var got bytes.Buffer
	require.NoError(t, reply.Write(t.Context(), &got))
	whole := a.begin(t.Context(), collected(spoken))
	recording, err := whole.Whole(t.Context())
	require.NoError(t, err)
	for id, sound := range map[string]string{reply.Clip(): got.String(), whole.Clip(): heard(t, recording)} {
		saved := a.saved(id)
		require.False(t, saved.Debug)
		require.Equal(t, account, saved.Account)
		require.Equal(t, sound, a.Read(saved.Account, saved.Blob))
	}
	settled := 0
	for _, event := range a.Books(account).Events {
		if e, is := event.(ledger.Settled); is {
			require.Equal(t, ledger.Playground, e.Source)
			settled++
		}
	}
	require.Equal(t, 2, settled)
}

// inBrowser is an order with a session.
func inBrowser(id string, format audio.Format) synthesis.Synthesis {
	o := order(id, "", format)
	o.Origin.Actor = eventlog.Actor{Kind: eventlog.ActorAccount, Account: id, Session: "s1"}
	return o
}

// only returns the only clip of an account, and its content.
func (a *archive) only(account string) (saved clip.Saved, content clip.Content) {
	a.T.Helper()
	var all []clip.Saved
	for _, blob := range a.Kept() {
		id, _, _ := strings.Cut(strings.TrimPrefix(string(blob), clip.StreamPrefix), ".")
		if one := a.saved(id); one.Account == account {
			all = append(all, one)
		}
	}
	require.Len(a.T, all, 1)
	opened, err := a.Keys.Open(a.T.Context(), account, all[0].Sealed, clip.SealedFor(all[0].Clip))
	require.NoError(a.T, err)
	require.NoError(a.T, json.Unmarshal(opened, &content))
	return all[0], content
}

// The delivered audio of a browser's WebSocket is one clip, whether the client finishes or leaves.
func TestWhatABrowserSpeaksOverAWebSocketIsKept(t *testing.T) {
	a := newArchive(t)
	for _, format := range []audio.Format{audio.MP3, audio.WAV, audio.PCMS16LE} {
		for _, finishes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, finishes %t", format, finishes), func(t *testing.T) {
				account := a.Open("free")
				heard := &audience{}
				talk := a.converseIn(inBrowser(account, format), finishes, heard)
				talk.say(t, "Hello. ", "How are ")
				require.NoError(t, talk.Flush(talk.ctx, nonce(1)))
				talk.say(t, "you?")
				require.NoError(t, talk.Flush(talk.ctx, nonce(2)))
				if finishes {
					require.NoError(t, talk.Finish(talk.ctx))
					require.NoError(t, <-talk.done)
					require.Equal(t, []readmodel.Model{readmodel.Usage, readmodel.Clips}, a.models.models)
				} else {
					require.Eventually(t, func() bool { return slices.Contains(heard.told(), "flushed 2") }, commandstest.Patience,
						time.Millisecond)
					talk.leave()
					require.Error(t, <-talk.done)
				}
				saved, content := a.only(account)
				require.Equal(t, "Hello. How are you?", content.Text)
				require.EqualValues(t, 19, saved.Characters)
				whole := audio.Whole(audio.Spec{Format: format, SampleRate: 24000}, heard.audio)
				require.Equal(t, string(whole), a.Read(saved.Account, saved.Blob))
				require.Equal(t, "en-us", saved.Language)
				require.Positive(t, saved.Milliseconds)
				require.False(t, saved.Debug)
				require.EqualValues(t, 19, a.Books(account).Settled)
			})
		}
	}
}

func TestOverAWebSocketNothingElseIsKept(t *testing.T) {
	a := newArchive(t)
	account := a.Open("free")
	silent := a.converseIn(inBrowser(account, audio.MP3), false, &audience{})
	require.NoError(t, silent.Finish(silent.ctx))
	require.NoError(t, <-silent.done)
	byKey := a.converseIn(order(account, "", audio.MP3), false, &audience{})
	byKey.say(t, "Hello.")
	require.NoError(t, byKey.Finish(byKey.ctx))
	require.NoError(t, <-byKey.done)
	require.Empty(t, a.Files())

	// and without the keyring speech does not begin
	a.Must(a.Pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`))
	before, heard := len(a.Books(account).Events), &audience{}
	talk := a.converseIn(inBrowser(account, audio.MP3), false, heard)
	talk.say(t, "Hello.")
	require.NoError(t, talk.Finish(talk.ctx))
	require.Equal(t, domain.Unavailable, domain.CodeOf(<-talk.done))
	require.Empty(t, heard.audio)
	require.Len(t, a.Books(account).Events, before)
}

func TestTheSameResultTwiceIsTwoClips(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	first, sound := a.save(account, "Hello.")
	second, same := a.save(account, "Hello.")
	require.Equal(t, sound, same)
	require.NotEqual(t, a.saved(first).Blob, a.saved(second).Blob)

	// so that deleting one keeps the other
	kept := a.saved(second)
	a.Must(a.clips.Delete(t.Context(), first, account, commandstest.Operator()))
	require.Equal(t, sound, a.Read(kept.Account, kept.Blob))
}

// A client that disconnects saves no clip, and pays as without one.
func TestRepliesThatAreCutAreNotSaved(t *testing.T) {
	longtest.Only(t)
	a := newArchive(t)
	_, whole := a.save(a.Open("indie"), story)
	proptest.Check(t, 4, func(rt *rapid.T) {
		account := a.Open("indie")
		takes := rapid.Int64Range(0, int64(len(whole))+1000).Draw(rt, "bytes that the client takes")
		reply := a.begin(t.Context(), keep(account, story, audio.PCMS16LE))
		c := &client{takes: takes}
		err := reply.Write(t.Context(), c)
		events := commandstest.Fold[clip.Event](a.World, clip.Stream(reply.Clip()))
		if err != nil {
			require.ErrorIs(rt, err, errHungUp)
			require.Empty(rt, events)
			require.Less(rt, c.taken.Len(), len(whole))
		} else {
			require.Len(rt, events, 1)
			require.Equal(rt, whole, c.taken.String())
		}
		saved := 0
		for _, blob := range a.Kept() {
			if strings.HasPrefix(string(blob), clip.Stream(reply.Clip())+".") {
				saved++
			}
		}
		require.Equal(rt, len(events), saved, "a blob for each clip, and no other")
		require.Len(rt, a.Files(), len(a.Kept()), "nothing is left of what was being written")
	})
}

func TestAReplyThatIsGivenUpBeforeItsFirstByteLeavesNothing(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	ctx, cancel := context.WithCancel(t.Context())
	reply := a.begin(ctx, keep(account, story, audio.WAV))
	cancel()
	a.requireIdle(account)
	require.Error(t, reply.Write(ctx, io.Discard))
	require.Empty(t, a.Files())
}

func TestWhoGoesWhenAllIsHandedOverHasSavedIt(t *testing.T) {
	a := newArchive(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply := a.begin(ctx, keep(a.Open("indie"), "Hello.", audio.WAV))
	release := a.World.Log.Hold() // the settlement waits
	ended := make(chan error, 1)
	go func() { ended <- reply.Write(ctx, io.Discard) }()
	<-a.World.Log.Held
	cancel()
	release()
	<-ended
	require.Equal(t, "leah", a.saved(reply.Clip()).Voice)
}

// A failure of the store loses the clip, never the audio that was paid for.
func TestAClipThatCannotBeKeptCostsNoReply(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	require.NoError(t, os.RemoveAll(a.Dir))
	for range 2 {
		reply := a.begin(t.Context(), keep(account, story, audio.WAV))
		var got bytes.Buffer
		require.NoError(t, reply.Write(t.Context(), &got))
		require.Greater(t, got.Len(), 100_000)
		require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(reply.Clip())))
		require.Equal(t, []readmodel.Model{readmodel.Usage}, a.models.models)
	}
	reply := a.begin(t.Context(), collected(keep(account, story, audio.WAV)))
	recording, err := reply.Whole(t.Context())
	require.NoError(t, err)
	require.Positive(t, recording.Audio.Size())
	require.Empty(t, reply.Clip(), "the client does not get the id of a clip that was not saved")
	require.EqualValues(t, 3*utf8.RuneCountInString(story), a.Books(account).Settled)
	require.Contains(t, a.Logged.String(), "a clip was not saved")
	require.NotContains(t, a.Logged.String(), "Once upon")
}

// All audio is sent before the store is called, so that a hanging store delays only the end.
func TestAStoreThatHangsCostsNoReply(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	store := &blobtest.Stuck{Store: a.Store, Release: make(chan struct{})}
	a.useStore(store, 10*time.Millisecond)

	reply := a.begin(t.Context(), keep(account, story, audio.WAV))
	var got bytes.Buffer
	require.NoError(t, reply.Write(t.Context(), &got))
	require.Greater(t, got.Len(), 100_000)
	require.Empty(t, commandstest.Fold[clip.Event](a.World, clip.Stream(reply.Clip())))

	whole := a.begin(t.Context(), collected(keep(account, story, audio.WAV)))
	recording, err := whole.Whole(t.Context())
	require.NoError(t, err)
	require.Equal(t, string(audio.Whole(audio.Spec{Format: audio.WAV, SampleRate: 24000}, got.Bytes())),
		heard(t, recording))
	require.Empty(t, whole.Clip(), "the client does not get the id of a clip that was not saved")
	whole.Release()

	listener := &audience{}
	talk := a.converseIn(inBrowser(account, audio.MP3), true, listener)
	talk.say(t, "Hello.")
	require.NoError(t, talk.Finish(talk.ctx))
	require.NoError(t, <-talk.done)
	require.NotEmpty(t, listener.audio)

	require.Equal(t, 3, strings.Count(a.Logged.String(), "a clip was not saved"))
	require.Zero(t, a.Synthesiser.Spool.Claimed(), "the spool gets its room back")
	a.requireIdle(account)
	close(store.Release)
	require.Empty(t, a.Files())
}

// Without room for its audio a clip could not be saved: it is refused before speech and reservation, and other speech
// continues.
func TestAClipWithoutRoomIsRefusedBeforeAnythingIsSpoken(t *testing.T) {
	a := newArchive(t)
	account := a.Open("indie")
	a.Synthesiser.Spool = openSpool(t, 1<<20, 1<<20)
	a.useStore(a.Store, commandstest.Patience)
	held, err := a.Synthesiser.Spool.Create("another", 1<<20)
	require.NoError(t, err)
	_, err = a.Begin(t.Context(), keep(account, story, audio.WAV))
	require.ErrorIs(t, err, synthesis.ErrNoRoom)
	require.Empty(t, a.Books(account).Events)
	require.NoError(t, a.begin(t.Context(), order(account, "Hello.", audio.WAV)).Write(t.Context(), io.Discard))

	held.Close()
	id, _ := a.save(account, "Hello.")
	require.Equal(t, account, a.saved(id).Account)
	a.requireIdle(account)
}

// Without the keyring a clip could not be saved: it is refused before speech and reservation, and other speech
// continues.
func TestAClipThatCouldNotBeSavedIsRefusedBeforeAnythingIsSpoken(t *testing.T) {
	a := newArchive(t)
	account, known := a.Open("indie"), a.Open("indie")
	a.save(known, "Hello.")
	a.Must(a.Pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`))
	for _, o := range []synthesis.Synthesis{keep(account, story, audio.WAV), collected(keep(account, story, audio.WAV))} {
		_, err := a.Begin(t.Context(), o)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err), "%v", err)
	}
	require.Empty(t, a.Books(account).Events)
	require.Len(t, a.Files(), 1)

	reply := a.begin(t.Context(), order(account, "Hello.", audio.WAV))
	require.NoError(t, reply.Write(t.Context(), io.Discard))
	id, _ := a.save(known, "Hello again.") // with the cached key
	require.Equal(t, known, a.saved(id).Account)
	a.requireIdle(account)
}

// showsNothing is a read model without blobs.
func showsNothing(context.Context, []blobs.Address) (map[blobs.Address]bool, error) { return nil, nil }
