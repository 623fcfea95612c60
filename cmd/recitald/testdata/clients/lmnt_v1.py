import asyncio
import json
import os

from lmnt.api import Speech, SpeechError, StreamError


async def refused(call):
    try:
        await call
    except (SpeechError, StreamError) as error:
        return str(error)
    return "no error"


async def stream(speech, voice="leah", **options):
    session = await speech.synthesize_streaming(voice, **options)
    await session.append_text("This is ")
    await session.append_text("streamed.")
    await session.flush()
    await session.append_text(" And more.")
    await session.finish()
    sound, words = 0, ""
    async for message in session:
        sound += len(message["audio"])
        words += "".join(word["text"] for word in message.get("durations", []))
    return words if sound > 1000 else "silence"


async def has_own_voice(speech):
    made = await speech.create_voice("Mine", False, ["recording.mp3"], gender="female", description="From Python")
    while made["state"] == "preparing":  # a slow machine
        await asyncio.sleep(0.1)
        made = await speech.voice_info(made["id"])
    changed = await speech.update_voice(made["id"], name="Renamed", starred=True)
    said = await speech.synthesize("With my voice.", made["id"], format="wav")
    return {
        "state": made["state"],
        "name": changed["voice"]["name"],
        "shown": (await speech.voice_info(made["id"]))["name"],
        "starred": len(await speech.list_voices(starred=True, owner="me")),
        "said": said["audio"][:4].decode(),
        "deleted": (await speech.delete_voice(made["id"]))["success"],
        "gone": await refused(speech.synthesize("x", made["id"])),
    }


async def main():
    address = os.environ["RECITAL_ADDRESS"]
    async with Speech(os.environ["RECITAL_KEY"], base_url=address) as speech:
        whole = await speech.synthesize(
            "Hello from version one.", "leah", format="wav", return_durations=True, return_seed=True, seed=7
        )
        async with Speech("rk_wrong", base_url=address) as stranger:
            wrong_key = await refused(stranger.account_info())
        return {
            "voices": len(await speech.list_voices()),
            "voice": (await speech.voice_info("zeke"))["name"],
            "plan": (await speech.account_info())["plan"]["type"],
            "whole": whole["audio"][:4].decode(),
            "seed": whole["seed"],
            "words": "".join(word["text"] for word in whole["durations"]),
            "ownVoice": await has_own_voice(speech),
            "streamed": await stream(speech),
            "streamedWithWords": await stream(speech, return_extras=True, speed=1.2),
            "streamedByNobody": await refused(stream(speech, "nobody")),
            "errors": {"key": wrong_key, "voice": await refused(speech.synthesize("x", "nobody"))},
        }


print(json.dumps(asyncio.run(main())))
