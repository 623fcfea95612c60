import asyncio
import json
import os

import aiohttp
from livekit.agents import APIConnectOptions, APIStatusError
from livekit.plugins import lmnt

ONCE = APIConnectOptions(max_retry=0, timeout=30)


async def sound_of(tts, text):
    """Returns whether the text became sound, as frames of which rate and how many channels."""
    frames = [event.frame async for event in tts.synthesize(text, conn_options=ONCE)]
    shape = {(frame.sample_rate, frame.num_channels) for frame in frames}
    return {"sound": sum(frame.duration for frame in frames) > 0.5, "shape": sorted(shape)}


async def refused(tts):
    try:
        await sound_of(tts, "x")
    except APIStatusError as error:
        return f"{type(error).__name__} {error.status_code}"
    return "no error"


async def main():
    async with aiohttp.ClientSession() as session:

        def tts(**options):
            return lmnt.TTS(**{"api_key": os.environ["RECITAL_KEY"], "http_session": session, **options})

        return {
            "mp3": await sound_of(tts(), "Hello from LiveKit."),
            "wav": await sound_of(tts(voice="zeke", format="wav", sample_rate=16000), "Hello from LiveKit."),
            "key": await refused(tts(api_key="rk_wrong")),
            "voice": await refused(tts(voice="nobody")),
        }


print(json.dumps(asyncio.run(main())))
