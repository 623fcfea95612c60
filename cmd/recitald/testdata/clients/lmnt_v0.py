import asyncio
import json
import os

from lmnt.api import Speech, SpeechError


async def main():
    async with Speech(os.environ["RECITAL_KEY"], base_url=os.environ["RECITAL_ADDRESS"]) as speech:
        voices = await speech.list_voices()
        whole = await speech.synthesize("Hello from version zero.", "leah", seed=5, speed=1.1)
        session = await speech.synthesize_streaming("lily")
        await session.append_text("This is ")
        await session.append_text("streamed.")
        await session.finish()
        sound = 0
        async for message in session:
            sound += len(message.data)
        try:
            await speech.synthesize("x", "nobody")
            unknown = "no error"
        except SpeechError as error:
            unknown = str(error)
        return {"voices": len(voices), "whole": whole[:4].decode(), "streamed": sound > 1000, "unknownVoice": unknown}


print(json.dumps(asyncio.run(main())))
