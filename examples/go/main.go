// Speak writes a text as speech to hello.mp3 while it is synthesised.
//
//	RECITAL_KEY=rk_… go run ./examples/go 'Hello from Go.'
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	text := "Hello from Go."
	if len(os.Args) > 1 {
		text = os.Args[1]
	}
	if err := speak(text, "hello.mp3"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func speak(text, path string) error {
	body, err := json.Marshal(map[string]string{"text": text, "voice": "leah"})
	if err != nil {
		return err
	}
	address := cmp.Or(os.Getenv("RECITAL_ADDRESS"), "http://127.0.0.1:8080")
	req, err := http.NewRequest(http.MethodPost, address+"/v1/ai/speech/bytes", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", os.Getenv("RECITAL_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		problem, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("%s: %s", resp.Status, problem)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	size, err := io.Copy(file, resp.Body) // each piece arrives as soon as it is made
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes, %s characters\n", path, size, resp.Header.Get("X-Character-Count"))
	return file.Close()
}
