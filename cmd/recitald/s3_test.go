package main_test

import (
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/providers/blobs/s3test"
	"github.com/recital-tts/recital/internal/speech/audio"
	"github.com/recital-tts/recital/internal/testing/longtest"
)

// launchOn starts an instance with blobs in S3 and its own data folder.
func (on services) launchOn(t *testing.T, store *s3test.Server) *server {
	t.Helper()
	s := on.launchIn(t, newFolder(t), "--blobs="+s3test.URL(store.Address(), "clips"),
		"--s3-access-key="+s3test.AccessKey, "--s3-secret-key="+s3test.SecretKey)
	s.awaitRunning()
	s.eventually(func() bool { return s.isReady() })
	return s
}

func TestClipsInS3ArePlayedByEveryInstanceAndSpeechOutlivesTheStore(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	store := s3test.Start(t)
	on := outsideServices(t)
	first, second := on.launchOn(t, store), on.launchOn(t, store)
	c := first.openAccount("indie")
	ask := order{"text": "Zyzzogeton walks by the river, and sings.", "voice": "leah", "format": "wav", "debug": true}

	// given a clip that was saved on one instance, then the other plays it, whole and in ranges
	saved := requireOK(t, c.post(t, detailedRoute, ask))
	require.NotEmpty(t, saved.header.Get("X-Clip-Id"))
	var r recording
	saved.decode(t, &r)
	requirePlayed := func(s *server) {
		t.Helper()
		page := c.at(s).clips(t)
		require.Equal(t, 1, page.TotalClips)
		shown := page.Clips[0]
		shown.URL = strings.Replace(shown.URL, "https://recital.example", s.address, 1)
		s.requirePlays(shown, r.sound(t), audio.WAV)
	}
	s3Objects := func() int { return len(filesBelow(t, store.BucketDir()+"/clips")) }
	require.Equal(t, 1, s3Objects())
	first.eventually(func() bool { return c.at(second).clips(t).TotalClips == 1 })
	requirePlayed(second)
	requirePlayed(first)

	// when the store is down
	store.Kill()

	// then speech continues, and the clip is reported as not saved
	unsaved := requireOK(t, c.post(t, detailedRoute, ask))
	require.Empty(t, unsaved.header.Get("X-Clip-Id"))
	require.True(t, first.isReady())
	require.EqualValues(t, 0, first.figure("recital_blob_store_answers"))
	url := strings.Replace(c.clips(t).Clips[0].URL, "https://recital.example", first.address, 1)
	away := fetch(t, http.MethodGet, url)
	require.Equal(t, 503, away.status, away.text())
	require.NotEmpty(t, away.header.Get("Retry-After"))

	// when it is back, then clips are saved and played again, by both
	store.Restart(t)
	first.eventually(func() bool {
		again := requireOK(t, c.post(t, detailedRoute, ask))
		return again.header.Get("X-Clip-Id") != ""
	})
	require.EqualValues(t, 1, first.figure("recital_blob_store_answers"))
	first.eventually(func() bool { return c.at(second).clips(t).TotalClips == 2 })
	for _, shown := range c.at(second).clips(t).Clips {
		url := strings.Replace(shown.URL, "https://recital.example", second.address, 1)
		second.eventually(func() bool { return fetch(t, http.MethodGet, url).status == 200 }) // its circuit closes
	}
	for _, s := range []*server{first, second} {
		log := read(t, s.log)
		for _, secret := range []string{s3test.SecretKey, s3test.AccessKey, "Signature", "Zyzzogeton"} {
			require.NotContains(t, log, secret)
		}
	}

	// when the clips are deleted, then the store has none of their blobs
	for _, shown := range c.clips(t).Clips {
		require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account/clip/"+shown.ID, nil)).status)
	}
	require.Zero(t, s3Objects())
}

func TestABackupIsRestoredIntoS3(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	// given a clip in S3, and one that was deleted after the backup
	store, dir := s3test.Start(t), filepath.Join(t.TempDir(), "backup")
	first := outsideServices(t).launchOn(t, store)
	c := first.openAccount("indie")
	kept, deleted := c.saveClip(t, prose(60)), c.saveClip(t, prose(40))
	require.Equal(t, 200, do(t, c.request(http.MethodDelete, "/v1/account/clip/"+deleted, nil)).status)
	require.Equal(t, 1, first.backup(dir, "--keep=0s").Stored.Blobs)
	heard, audio := c.hear(t, kept)
	first.kill()

	// when it is restored into another store, event log and Postgres
	another, on, data := s3test.Start(t), outsideServices(t), filepath.Join(newFolder(t), "data")
	restore := func(blobs string) ([]byte, error) {
		return first.tool("restore", dir, "--data-dir", data, "--to", on.events, "--master-key-file",
			filepath.Join(first.data, "master-key"),
			"--blobs", blobs, "--s3-access-key", s3test.AccessKey, "--s3-secret-key", s3test.SecretKey).CombinedOutput()
	}
	to := s3test.URL(another.Address(), "clips")
	said, err := restore(strings.Replace(to, s3test.Bucket, "nowhere", 1))
	require.Error(t, err)
	require.Contains(t, string(said), "the bucket nowhere cannot be used: NoSuchBucket (404)")
	said, err = restore(to)
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), "and 1 blobs")
	require.NotContains(t, string(said), s3test.SecretKey)

	// then the clip plays from the other store
	require.Len(t, filesBelow(t, another.BucketDir()+"/clips"), 1)
	require.NoDirExists(t, filepath.Join(data, "blobs"))
	store.Kill()
	second := on.launchIn(t, data, "--blobs="+to, "--s3-access-key="+s3test.AccessKey, "--s3-secret-key="+s3test.SecretKey)
	second.awaitRunning()
	second.eventually(second.isReady)
	text, played := c.at(second).hear(t, kept)
	require.Equal(t, heard, text)
	require.Equal(t, audio, played)
	c.at(second).lacksClip(t, deleted)
}

// filesBelow returns the paths of the files below a folder, none if it is missing.
func filesBelow(t *testing.T, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return files
}
