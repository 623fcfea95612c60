import asyncio
import json
import os

from pipecat.frames.frames import ErrorFrame, TTSAudioRawFrame, TTSSpeakFrame, TTSStartedFrame, TTSStoppedFrame
from pipecat.services.lmnt.tts import LmntTTSService
from pipecat.tests.utils import run_test


async def frames_of(key):
    service = LmntTTSService(
        api_key=key,
        sample_rate=24000,
        settings=LmntTTSService.Settings(voice="lily"),
    )
    down, up = await run_test(service, frames_to_send=[TTSSpeakFrame("Hello from Pipecat.")], start_timeout=60)
    return list(down) + list(up)


async def main():
    frames = await frames_of(os.environ["RECITAL_KEY"])
    kinds = {type(frame) for frame in frames}
    sound = [frame for frame in frames if isinstance(frame, TTSAudioRawFrame)]
    errors = [frame.error for frame in await frames_of("rk_wrong") if isinstance(frame, ErrorFrame)]
    return {
        "started": TTSStartedFrame in kinds,
        "stopped": TTSStoppedFrame in kinds,
        "sound": sum(len(frame.audio) for frame in sound) > 24000,
        "rates": sorted({frame.sample_rate for frame in sound}),
        "key": any("Invalid API key" in error for error in errors),
    }


print(json.dumps(asyncio.run(main())))
