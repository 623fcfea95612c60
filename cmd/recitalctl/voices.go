package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/speech/voicepack"
)

type voiceCommands struct {
	List    listVoices   `cmd:"" default:"withargs" help:"List the installed voices."`
	Install installVoice `cmd:"" help:"Install the voice of a package, or another version of it."`
	Test    testVoice    `cmd:"" help:"Measure an installed voice with twenty sentences."`
	Remove  removeVoice  `cmd:"" help:"Remove an installed voice."`

	Assign   assignVoice   `cmd:"" help:"Let an installed voice speak for a system voice."`
	Unassign unassignVoice `cmd:"" help:"Let a system voice speak for itself again."`
}

type listVoices struct{ listForm }

// Run prints the voices.
func (c *listVoices) Run(ctx context.Context, admin *client, to terminal) error {
	all, err := get[adminapi.InstalledVoicesReply](ctx, admin, "listing the installed voices", "/admin/voices")
	return showList(c.Format, to, all, all.Voices, err)
}

type installVoice struct {
	Package string `arg:"" help:"Folder of the package (manifest.json, voice.onnx.json and voice.onnx), or a zip, tar or tar.gz of it."`
	SHA256  string `name:"sha256" required:"" placeholder:"HEX" help:"SHA-256 of the zip or tar; of a folder: of manifest.json, which has those of the other files."`
	valueForm
}

// Help implements kong.HelpProvider.
func (*installVoice) Help() string {
	return `Example:
  recitalctl voices install joe.zip --sha256 $(sha256sum joe.zip | cut -d ' ' -f 1)
  recitalctl voices install ./joe --sha256 $(sha256sum ./joe/manifest.json | cut -d ' ' -f 1)

recitald tests the voice before it installs it, and prints how many concurrent streams of it this machine can serve.
All instances with ONNX Runtime (RECITAL_ONNXRUNTIME) run it a few seconds later, without a restart. Read the voice's
licence first: it is up to you whether you may use it.`
}

// Run sends the package and requests its installation.
func (c *installVoice) Run(ctx context.Context, admin *client, to terminal) error {
	folder, remove, err := c.folder()
	if err != nil {
		return err
	}
	defer remove()
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("opening the package: %w", err)
	}
	defer root.Close()
	pack, err := voicepack.Open(root.FS())
	if err != nil {
		return err
	}
	if folder == c.Package && pack.SHA256 != c.SHA256 {
		return fail(exitFailed, "the manifest has the SHA-256 %s", pack.SHA256)
	}
	if err := c.send(ctx, admin, root); err != nil {
		return fmt.Errorf("sending the package: %w", err)
	}
	admin.http.Timeout = 0 // the voice speaks twenty sentences
	command := map[string]string{"sha256": pack.SHA256}
	installed, err := post[adminapi.InstalledVoiceReply](ctx, admin, "installing the voice", "/admin/voices", command)
	if err == nil && installed.Commercial != "yes" {
		fmt.Fprintf(to.notes, "Its licence (%s) permits commercial use: %s.\n", printable(installed.Licence),
			printable(installed.Commercial))
	}
	return showOne(c.Format, to, installed, err)
}

// folder returns the folder of the package, and a function that removes it if it was unpacked from an archive.
func (c *installVoice) folder() (folder string, remove func(), err error) {
	file, err := os.Open(c.Package)
	if err != nil {
		return "", nil, fmt.Errorf("opening the package: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", nil, fmt.Errorf("opening the package: %w", err)
	}
	if info.IsDir() {
		return c.Package, func() {}, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, voicepack.MaxArchive)); err != nil {
		return "", nil, fmt.Errorf("reading the package: %w", err)
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != c.SHA256 {
		return "", nil, fail(exitFailed, "the file has the SHA-256 %s", found)
	}
	if folder, err = os.MkdirTemp("", "recital-voice-"); err != nil {
		return "", nil, fmt.Errorf("unpacking the package: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) }
	if err := voicepack.UnpackAny(file, info.Size(), folder); err != nil {
		remove()
		return "", nil, err
	}
	return folder, remove, nil
}

func (c *installVoice) send(ctx context.Context, admin *client, root *os.Root) error {
	out, in := io.Pipe()
	defer out.Close()
	go func() { in.CloseWithError(voicepack.Write(in, root.FS())) }()
	return admin.sendInPieces(ctx, "/admin/voices/package", out)
}

// someVoice identifies an installed voice.
type someVoice struct {
	ID string `arg:"" help:"Id of the voice, as voices list shows it."`
}

// path returns the voice's path in the admin API.
func (v someVoice) path() string { return "/admin/voices/" + url.PathEscape(v.ID) }

type testVoice struct {
	someVoice
	valueForm
}

// Run tests the voice.
func (c *testVoice) Run(ctx context.Context, admin *client, to terminal) error {
	admin.http.Timeout = 0
	measured, err := post[adminapi.TestedVoiceReply](ctx, admin, "testing the voice", c.path()+"/test", struct{}{})
	return showOne(c.Format, to, measured, err)
}

type removeVoice struct {
	someVoice
	Yes bool `help:"Do not ask."`
}

// Run asks for confirmation and removes the voice.
func (c *removeVoice) Run(ctx context.Context, admin *client, to terminal) error {
	question := fmt.Sprintf("Remove the voice %s, and end its running requests?", printable(c.ID))
	if err := to.confirm(ctx, c.Yes, question); err != nil {
		return err
	}
	_, err := remove[struct{}](ctx, admin, "removing the voice", c.path())
	return to.report(err, "Removed.")
}

// systemVoice identifies a system voice.
type systemVoice struct {
	System string `arg:"" help:"Id of the system voice, such as leah."`
}

func (v systemVoice) assign(ctx context.Context, admin *client, to terminal, voice string) error {
	path, command := "/admin/system-voices/"+url.PathEscape(v.System), map[string]string{"voice": voice}
	_, err := post[struct{}](ctx, admin, "assigning the voice", path, command)
	return to.report(err, "Done.")
}

type assignVoice struct {
	systemVoice
	someVoice
}

// Run assigns the voice.
func (c *assignVoice) Run(ctx context.Context, admin *client, to terminal) error {
	return c.assign(ctx, admin, to, c.ID)
}

type unassignVoice struct{ systemVoice }

// Run ends the assignment.
func (c *unassignVoice) Run(ctx context.Context, admin *client, to terminal) error {
	return c.assign(ctx, admin, to, "")
}
