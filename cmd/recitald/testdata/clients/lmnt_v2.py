import asyncio
import inspect
import json
import os
import time

import httpx
import lmnt

ADDRESS = os.environ["RECITAL_ADDRESS"]
statuses = []


def options(key, client, **more):
    """Returns the arguments of a client that counts its attempts."""
    asynchronous = issubclass(client, httpx.AsyncClient)

    def count(response):
        statuses.append(response.status_code)

    async def count_later(response):
        count(response)

    hooks = {"response": [count_later if asynchronous else count]}
    return {"api_key": key, "base_url": ADDRESS, "http_client": client(event_hooks=hooks), **more}


def client_with(key, **more):
    return lmnt.Lmnt(**options(key, httpx.Client, **more))


client = client_with(os.environ["RECITAL_KEY"])
# Up to version 2.5 a voice is made of several files, and a session has other names.
old = "files" in inspect.signature(client.voices.create).parameters
with open("recording.mp3", "rb") as recording:
    contents = recording.read()
upload = {"files": [("recording.mp3", contents)], "enhance": False} if old else {"file": ("recording.mp3", contents)}
NEW_VOICE = {"name": "Mine", "description": "From Python", "gender": "female", **upload}


def failure(error):
    """Returns the class and the fields of an error, and the number of attempts."""
    kind = getattr(error, "type", None)
    return " ".join(str(field) for field in [type(error).__name__, error.status_code, kind, len(statuses)] if field)


def refused(call, *args, **arguments):
    statuses.clear()
    try:
        call(*args, **arguments)
    except lmnt.APIStatusError as error:
        return failure(error)
    return "no error"


def has_own_voice():
    made = client.voices.create(**NEW_VOICE)
    while made.state == "preparing":  # a slow machine
        time.sleep(0.1)
        made = client.voices.retrieve(made.id)
    changed = client.voices.update(made.id, name="Renamed", starred=True)
    said = client.speech.generate(text="With my voice.", voice=made.id, format="wav").read()
    return {
        "state": made.state,
        "name": changed.voice.name,
        "shown": client.voices.retrieve(made.id).name,
        "starred": len(client.voices.list(starred="true", owner="me")),
        "said": said[:4].decode(),
        "deleted": client.voices.delete(made.id).success,
        "gone": refused(client.speech.generate, text="x", voice=made.id),
    }


def speaks_in_pieces():
    with client.speech.with_streaming_response.generate(text="In pieces. And more.", voice="leah") as response:
        return sum(1 for _ in response.iter_bytes()) > 1


async def session_of(asynchronous, **more):
    """Returns the type of each message that a session has, and what else it shows."""
    if not old:
        more = {"return_timestamps" if key == "return_extras" else key: value for key, value in more.items()}
    session = await asynchronous.speech.sessions.create(**{"voice": "leah", **more})
    send, flush, reset, finish = (
        (session.append_text, session.flush, session.reset, session.finish)
        if old
        else (session.send_text, session.send_flush, session.send_reset, session.send_finish)
    )
    await send("This is ")
    await send("streamed.")
    await flush()
    await send(" And more.")
    await finish()
    sound, words, flushes, errors = 0, "", 0, []
    async for message in session:
        if message.type == "audio":
            sound += len(message.audio)
        elif getattr(message, "error", None):
            errors.append(getattr(message.error, "message", message.error))
        elif message.type in ("flush_complete", "complete"):
            flushes += 1
        else:
            for word in getattr(message, "timestamps", None) or getattr(message, "durations", None) or []:
                words += word["text"] if isinstance(word, dict) else word.text
    await session.close()
    return {"sound": sound > 1000, "words": words, "flushes": flushes, "errors": errors}


async def reset_of(asynchronous):
    """Returns whether a reset is acknowledged, and the text before it is not spoken."""
    session = await asynchronous.speech.sessions.create(voice="leah")
    await (session.append_text if old else session.send_text)("Never")
    await session.reset() if old else await session.send_reset()
    async for message in session:
        if message.type in ("reset_complete", "complete"):
            break
    await session.finish() if old else await session.send_finish()
    sound = [message async for message in session if message.type == "audio" and message.audio]
    return len(sound) == 0


async def asynchronously():
    async with lmnt.AsyncLmnt(**options(client.api_key, httpx.AsyncClient)) as asynchronous:
        statuses.clear()
        try:
            await asynchronous.speech.generate(text="x", voice="nobody")
            unknown = "no error"
        except lmnt.NotFoundError as error:
            unknown = failure(error)
        pieces = 0
        async with asynchronous.speech.with_streaming_response.generate(text="Not at once.", voice="leah") as response:
            async for _ in response.iter_bytes():
                pieces += 1
        made = await asynchronous.voices.create(**NEW_VOICE)
        deleted = await asynchronous.voices.delete(made.id)
        return {
            "voices": len(await asynchronous.voices.list()),
            "plan": (await asynchronous.accounts.retrieve()).plan.type,
            "sound": pieces > 0,
            "upload": made.owner,
            "deleted": deleted.success,
            "unknownVoice": unknown,
            "streamed": await session_of(asynchronous),
            "streamedWithWords": await session_of(asynchronous, return_extras=True),
            "streamedByNobody": await session_of(asynchronous, voice="nobody"),
            "reset": await reset_of(asynchronous),
        }


def is_retried():
    """Returns the statuses of a request that waits for a place: the account speaks one text at a time."""
    busy = client_with(os.environ["RECITAL_BUSY_KEY"], max_retries=10)
    long = {"text": "A long text that nobody reads. " * 150, "voice": "leah", "format": "wav"}
    with busy.speech.with_streaming_response.generate(**long):
        told = refused(busy.with_options(max_retries=1).speech.generate, text="Too early.", voice="leah")
    statuses.clear()
    busy.speech.generate(text="At last.", voice="leah").read()
    return [told, statuses[-1]]


whole = client.speech.generate(text="Hello from version two.", voice="leah", format="wav").read()
times = "return_durations" if old else "return_timestamps"
detailed = client.speech.generate_detailed(text="Hello again.", voice="leah", **{times: True})
words = detailed.durations if old else detailed.timestamps
print(
    json.dumps(
        {
            "voices": len(client.voices.list()),
            "voice": client.voices.retrieve("zeke").name,
            "plan": client.accounts.retrieve().plan.type,
            "whole": whole[:4].decode(),
            "words": "".join(word.text for word in words),
            "pieces": speaks_in_pieces(),
            "ownVoice": has_own_voice(),
            "errors": {
                "key": refused(client_with("rk_wrong").accounts.retrieve),
                "voice": refused(client.speech.generate, text="x", voice="nobody"),
                "input": refused(client.speech.generate, text="", voice="leah"),
                "permission": refused(client.voices.update, "leah", name="Mine"),
                "quota": refused(client_with(os.environ["RECITAL_SPENT_KEY"]).speech.generate, text="x" * 300, voice="leah"),
            },
            "retried": is_retried(),
            "asynchronous": asyncio.run(asynchronously()),
        }
    )
)
