import asyncio
import json
import os

from livekit.agents import APIStatusError
from livekit.plugins import openai


async def speak(text, **options):
    """Returns the sample rate, and whether there is sound; or the status of an error."""
    speaker = openai.TTS(base_url=os.environ["RECITAL_ADDRESS"] + "/v1", api_key=os.environ["RECITAL_KEY"], **options)
    try:
        frames = [event.frame async for event in speaker.synthesize(text)]
    except APIStatusError as error:
        return error.status_code
    finally:
        await speaker.aclose()
    seconds = sum(frame.samples_per_channel / frame.sample_rate for frame in frames)
    return f"{frames[0].sample_rate} {seconds > 0.5}"


async def main():
    answers = {
        "events": await speak("Hello from LiveKit.", model="aurora"),
        "audio": await speak("And once more.", model="tts-1", voice="onyx", response_format="opus"),
        "no voice": await speak("Not charged.", voice="nobody"),
    }
    print(json.dumps(answers))


asyncio.run(main())
