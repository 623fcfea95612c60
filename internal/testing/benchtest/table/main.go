// Table runs go test with its own arguments, passes its output on, and finally prints one table of the targets in
// targets.tsv with the figures that the benchmarks reported. Its exit code is that of go test: a missed target is not a
// failure.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	targets, err := parseTargets(listed)
	code := 1
	if err == nil {
		code, err = run(os.Args[1:], targets, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
	}
	os.Exit(code)
}

func run(command []string, targets []target, out io.Writer) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("usage: table COMMAND ARGUMENT…")
	}
	tests := exec.Command(command[0], command[1:]...)
	tests.Stderr = os.Stderr
	output, err := tests.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := tests.Start(); err != nil {
		return 1, err
	}
	results, readErr := read(io.TeeReader(output, out))
	_, copyErr := io.Copy(out, output) // go test would block without a reader
	if err := tests.Wait(); err != nil || readErr != nil {
		code = 1
	}
	return code, errors.Join(readErr, copyErr, print(out, pair(results), targets))
}
