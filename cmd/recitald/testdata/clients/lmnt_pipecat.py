import asyncio
import json
import os

from pipecat.services.lmnt.tts import LmntTTSService
from pipecat_speech import spoken


def service(key="RECITAL_KEY", voice="leah"):
    settings = LmntTTSService.Settings(voice=voice, model="blizzard")
    return LmntTTSService(api_key=os.environ.get(key, key), settings=settings)


async def main():
    return {
        "spoken": await spoken(service(), "Hello from Pipecat.", "And once more."),
        "key": (await spoken(service(key="rk_wrong"), "x"))["errors"][0],
        "voice": (await spoken(service(voice="nobody"), "x"))["errors"][0],
    }


print(json.dumps(asyncio.run(main())))
