"""Writes a text as speech to hello.mp3 while it is synthesised. It needs Python 3.8 or later, and no package."""

import json
import os
import shutil
import sys
import urllib.error
import urllib.request

address = os.environ.get("RECITAL_ADDRESS", "http://127.0.0.1:8080")
text = sys.argv[1] if len(sys.argv) > 1 else "Hello from Python."

request = urllib.request.Request(
    f"{address}/v1/ai/speech/bytes",
    data=json.dumps({"text": text, "voice": "leah"}).encode(),
    headers={"x-api-key": os.environ["RECITAL_KEY"], "content-type": "application/json"},
)
try:
    with urllib.request.urlopen(request) as response, open("hello.mp3", "wb") as file:
        shutil.copyfileobj(response, file)
        print(f"hello.mp3: {response.headers['x-character-count']} characters")
except urllib.error.HTTPError as error:
    sys.exit(f"{error.code}: {error.read().decode()}")
