// Package packages serves the operators' routes on installed voices.
package packages

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/recital-tts/recital/commands/packages"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/audit"
	"github.com/recital-tts/recital/internal/http/adminapi"
	"github.com/recital-tts/recital/internal/http/web"
	"github.com/recital-tts/recital/internal/speech/voicepack"
	"github.com/recital-tts/recital/writeapi"
)

// API serves the routes.
type API struct {
	Packages *packages.Packages
	Inbox    writeapi.Inbox
}

const (
	maxPiece       = 1 << 20 // bytes of a package in a request
	installTimeout = 10 * time.Minute
)

// AdminRoutes returns the rows for the admin route table.
func (a *API) AdminRoutes() []web.Route {
	operator, tag := web.Role("operator"), web.Tag("Operators")
	return []web.Route{
		web.Get("/admin/voices", a.list, web.Role("operator", "auditor"), tag, web.Summary("The installed voices"),
			web.Returns[adminapi.InstalledVoicesReply]()),
		web.Put("/admin/voices/package", a.receive, operator, tag, web.AppendsNothing(), web.MaxBody(maxPiece),
			web.Summary("Send a piece of a package of a voice"), web.Returns[writeapi.PieceReply](), web.Refuses(409)),
		web.Post("/admin/voices", a.install, operator, tag, web.Timeout(installTimeout),
			web.Acts(web.Act{Kind: audit.ActInstallVoice}),
			web.Summary("Install the voice of the received package"),
			web.Description("The voice is loaded and measured first. All instances run it a few seconds later."),
			web.Returns[adminapi.InstalledVoiceReply](), web.Refuses(409)),
		web.Post("/admin/voices/{id}/test", a.test, operator, tag, web.Timeout(installTimeout), web.AppendsNothing(),
			web.Acts(web.Act{Kind: audit.ActTestVoice, Anyway: true}),
			web.Summary("Test an installed voice with twenty sentences, and measure it"),
			web.Returns[adminapi.TestedVoiceReply](), web.Refuses(404, 409)),
		web.Delete("/admin/voices/{id}", a.remove, operator, tag, web.Acts(web.Act{Kind: audit.ActRemoveVoice}),
			web.Summary("Remove an installed voice"), web.Returns[removedVoiceReply](), web.Refuses(404)),
		web.Post("/admin/system-voices/{system}", a.assign, operator, tag, web.Acts(web.Act{Kind: audit.ActAssignVoice}),
			web.Summary("Make an installed voice speak for a system voice, or reset the system voice"),
			web.Returns[assignedVoiceReply](), web.Refuses(404, 409)),
	}
}

func replyOf(v packages.Voice) adminapi.InstalledVoiceReply {
	return adminapi.InstalledVoiceReply{
		ID: v.Voice, Name: v.Name, Languages: v.Languages, Licence: v.Licence, Attribution: v.Attribution,
		Commercial: v.Commercial, Base: v.Base, SHA256: v.SHA256, Gain: v.Gain, Cost: v.Cost, Streams: v.Streams,
		Running: v.Running, SpeaksFor: append([]string{}, v.SpeaksFor...), InstalledAt: v.At.Unix(),
	}
}

func (a *API) list(call *web.Call, _ struct{}) (web.Reply, error) {
	all, err := a.Packages.List(call)
	reply := adminapi.InstalledVoicesReply{Voices: []adminapi.InstalledVoiceReply{}}
	for _, v := range all {
		reply.Voices = append(reply.Voices, replyOf(v))
	}
	return web.JSON(reply), err
}

type packagePieceRequest struct {
	Offset int64  `query:"offset" ge:"0" le:"628097024" doc:"of the piece in the package, in bytes; at 0 another package begins"`
	Piece  []byte `raw:"body"`
}

func (a *API) receive(_ *web.Call, in packagePieceRequest) (web.Reply, error) {
	if in.Offset+int64(len(in.Piece)) > voicepack.MaxArchive {
		return web.Reply{}, errors.Join(domain.Refuse(domain.Rejected, "The package is too large"), a.Inbox.Remove())
	}
	return writeapi.Receive(a.Inbox, in.Offset, in.Piece)
}

type installVoiceRequest struct {
	SHA256 string `body:"sha256" pattern:"^[0-9a-f]{64}$" doc:"of the package's manifest.json, in hex"`
}

// Subject implements web.Subject.
func (r installVoiceRequest) Subject() string { return r.SHA256 }

// install installs the received package, and drops it in any case.
func (a *API) install(call *web.Call, in installVoiceRequest) (web.Reply, error) {
	var installed packages.Voice
	found, err := a.Inbox.Take(func(from io.Reader) (err error) {
		installed, err = a.Packages.Install(call, from, in.SHA256, writeapi.Origin(call.Caller))
		return err
	})
	if err != nil {
		return web.Reply{}, errors.Join(err, a.Inbox.Remove())
	}
	if !found {
		return web.Reply{}, domain.Refuse(domain.Rejected, "No package has been sent")
	}
	return web.JSON(replyOf(installed)), nil
}

type installedVoiceRequest struct {
	ID string `path:"id" maxlen:"32"`
}

// Subject implements web.Subject.
func (r installedVoiceRequest) Subject() string { return r.ID }

func missingOf(counts map[string]int) []adminapi.MissingSymbol {
	missing := []adminapi.MissingSymbol{}
	for symbol, count := range counts {
		missing = append(missing, adminapi.MissingSymbol{Symbol: symbol, Count: count})
	}
	slices.SortFunc(missing, func(a, b adminapi.MissingSymbol) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Symbol, b.Symbol))
	})
	return missing
}

func (a *API) test(call *web.Call, in installedVoiceRequest) (web.Reply, error) {
	measured, err := a.Packages.Test(call, in.ID)
	return web.JSON(adminapi.TestedVoiceReply{ID: in.ID, Gain: measured.Gain, Cost: measured.Cost,
		Missing: missingOf(measured.Missing)}), err
}

type removedVoiceReply struct {
	ID string `json:"id"`
}

func (a *API) remove(call *web.Call, in installedVoiceRequest) (web.Reply, error) {
	return web.JSON(removedVoiceReply(in)), a.Packages.Remove(call, in.ID, writeapi.Origin(call.Caller))
}

type assignVoiceRequest struct {
	System string `path:"system" maxlen:"32"`
	Voice  string `body:"voice" maxlen:"32" doc:"of the installed voice; empty to reset the system voice"`
}

// Subject implements web.Subject.
func (r assignVoiceRequest) Subject() string { return strings.TrimSpace(r.System + " " + r.Voice) }

type assignedVoiceReply struct {
	System string `json:"system"`
	Voice  string `json:"voice"`
}

func (a *API) assign(call *web.Call, in assignVoiceRequest) (web.Reply, error) {
	return web.JSON(assignedVoiceReply(in)), a.Packages.Assign(call, in.System, in.Voice, writeapi.Origin(call.Caller))
}
