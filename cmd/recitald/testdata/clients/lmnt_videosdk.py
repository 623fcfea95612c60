import asyncio
import json
import os

from videosdk.agents import FlushMarker
from videosdk.plugins.lmnt import LMNTTTS


class Track:
    """Takes the place of the track of a call: it collects the audio, 24,000 samples of 16 bits a second."""

    def __init__(self):
        self.audio = bytearray()

    async def add_new_bytes(self, audio):
        self.audio += audio


async def spoken(text, key="RECITAL_KEY", **options):
    """Returns whether a text became sound, and the errors."""
    tts, track, errors = LMNTTTS(api_key=os.environ.get(key, key), **options), Track(), []
    tts.audio_track, tts.loop = track, asyncio.get_running_loop()
    tts.on("error", lambda error: errors.append(error))  # it calls nothing that is not written in Python
    await tts.synthesize(text)
    await tts.aclose()
    return {"sound": len(track.audio) > 24000, "errors": errors}


async def pieces():
    yield "Sent in pieces. "
    yield FlushMarker()
    yield "And more."


async def main():
    return {
        "whole": await spoken("Hello from VideoSDK."),
        "pieces": await spoken(pieces(), voice="zeke", language="en", seed=7),
        "key": await spoken("x", key="rk_wrong"),
        "voice": await spoken("x", voice="nobody"),
    }


print(json.dumps(asyncio.run(main())))
