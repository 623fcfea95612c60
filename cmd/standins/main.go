// Standins is the process with the providers that take the place of others in mode dev: a payment provider, an identity
// provider and a hosting platform. recitald starts it, and it exits at the end of its input. Production does without
// it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/recital-tts/recital/internal/process/release"
	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/standins"
	"github.com/recital-tts/recital/internal/standins/devidp"
	"github.com/recital-tts/recital/internal/standins/hostingplatform"
	"github.com/recital-tts/recital/internal/standins/sandbox"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("standins", release.Build())
		return
	}
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: standins [--version]\n\nrecitald starts it in mode dev; frames go over "+
			"standard input and output.")
		os.Exit(2)
	}
	if err := serve(workers.NewReader(os.Stdin), workers.NewWriter(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "standins:", err)
		os.Exit(1)
	}
}

// serve returns at the end of the input. The exit of the process closes everything. The sandbox has saved its answers
// by then.
func serve(in *workers.Reader, out *workers.Writer) error {
	config, err := standins.Receive[standins.Config](in)
	if err != nil {
		return err
	}
	var s servers
	started, err := s.start(config)
	if err != nil {
		started.Error = err.Error()
	}
	if err := standins.Send(out, started); err != nil {
		return err
	}
	for {
		config, err := standins.Receive[standins.Config](in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case s.payments != nil && config.Payments != nil:
			s.payments.SetWebhookURL(config.Payments.WebhookURL)
		}
	}
}

// servers are the stand-ins.
type servers struct {
	payments *sandbox.Sandbox
}

func (s *servers) start(config standins.Config) (started standins.Started, err error) {
	if c := config.Payments; c != nil {
		s.payments, err = sandbox.Open(sandbox.Config{
			File: c.File, Address: c.Address, Key: c.Key, WebhookSecret: c.WebhookSecret, WebhookURL: c.WebhookURL,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			return started, err
		}
		started.Payments = s.payments.URL()
	}
	if c := config.SignIn; c != nil {
		if started.SignIn, err = serveSignIn(*c); err != nil {
			return started, err
		}
	}
	if c := config.Hosting; c != nil {
		platform, err := hostingplatform.Open(hostingplatform.Config{Address: c.Address, ClientID: c.ClientID,
			ClientSecret: c.ClientSecret})
		if err != nil {
			return started, err
		}
		started.Hosting = platform.URL()
	}
	return started, nil
}

func serveSignIn(config standins.SignIn) (url string, err error) {
	listener, err := standins.Listen(config.Address)
	if err != nil {
		return "", err
	}
	server, err := devidp.New(listener, config.Issuers, config.Home, config.ClientSecret)
	if err != nil {
		return "", errors.Join(err, listener.Close())
	}
	go func() {
		if err := server.Run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "standins: the identity provider has stopped:", err)
		}
	}()
	return server.URL(), nil
}
