#!/bin/sh
# Speaks a text with curl: as audio that can be played while it arrives, and as JSON with the times of its words.
set -eu
address=${RECITAL_ADDRESS:-http://127.0.0.1:8080}

curl -fsS "$address/v1/ai/speech/bytes" -H "x-api-key: $RECITAL_KEY" -H 'content-type: application/json' \
  -d '{"text": "Hello from curl.", "voice": "leah"}' -o hello.mp3

curl -fsS "$address/v1/ai/speech" -H "x-api-key: $RECITAL_KEY" -H 'content-type: application/json' \
  -d '{"text": "Hello from curl.", "voice": "leah", "format": "wav", "return_durations": true}' |
  tr -d '\n' | sed 's/"audio": *"[^"]*"/"audio": "…"/'
