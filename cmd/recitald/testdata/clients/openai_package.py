import asyncio
import json
import os
import threading
import time

try:
    import httpx2 as httpx
except ImportError:  # before version 3 of the package
    import httpx
import openai

BASE_URL = os.environ["RECITAL_ADDRESS"] + "/v1"
HELLO = {"model": "aurora", "voice": "alloy", "input": "Hello from OpenAI."}
statuses = []


def client_with(key, **options):
    count = httpx.Client(event_hooks={"response": [lambda response: statuses.append(response.status_code)]})
    return openai.OpenAI(api_key=key, base_url=BASE_URL, http_client=count, **options)


client = client_with(os.environ["RECITAL_KEY"])


def told(by=client, **request):
    """Returns the class and the fields of an error, and the number of attempts."""
    statuses.clear()
    try:
        by.audio.speech.create(**{**HELLO, **request})
    except openai.APIStatusError as error:
        fields = [type(error).__name__, error.status_code, error.type, error.code, error.param, len(statuses)]
        return " ".join("" if field is None else str(field) for field in fields)
    return "no error"


formats = {}
for response_format in ["mp3", "opus", "aac", "flac", "wav", "pcm"]:
    response = client.audio.speech.create(**HELLO, response_format=response_format)
    content_type = response.response.headers["content-type"]
    formats[response_format] = f"{content_type} {str(len(response.content) > 2000).lower()}"

streamed = {**HELLO, "voice": {"id": "zeke"}, "input": "This is streamed. And more. And still more."}
with client.audio.speech.with_streaming_response.create(**streamed) as response:
    pieces = sum(1 for _ in response.iter_bytes())

types, sound, usage = [], 0, {}
request = {**HELLO, "input": "These are events."}
with client.audio.speech.with_streaming_response.create(
    **request, stream_format="sse", response_format="pcm"
) as response:
    for line in response.iter_lines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[len("data: ") :])
        if event["type"] not in types:
            types.append(event["type"])
        sound += len(event.get("audio", "")) * 3 // 4
        usage = event.get("usage", usage)

warned = client.audio.speech.create(model="tts-1", voice="alloy", input="Faster.", speed=4, instructions="Whisper.")

errors = {
    "key": told(client_with("rk_wrong")),
    "voice": told(voice="nobody"),
    "input": told(input=""),
    "format": told(response_format="ogg"),
    "quota": told(client_with(os.environ["RECITAL_SPENT_KEY"]), input="One too many. " * 20),
}

# The account speaks one text at a time. A client that is refused for that tries again until the first one hangs up.
busy = client_with(os.environ["RECITAL_BUSY_KEY"], max_retries=10)
answers = []


def speak_at_last():
    answers.append(busy.audio.speech.create(**{**HELLO, "input": "At last."}).response.status_code)


long = {**HELLO, "input": "A long text that nobody reads. " * 150, "speed": 0.25, "response_format": "wav"}
second = threading.Thread(target=speak_at_last)
with busy.audio.speech.with_streaming_response.create(**long) as first:
    statuses.clear()
    second.start()
    while 429 not in statuses:
        time.sleep(0.01)
second.join()


async def asynchronously():
    async with openai.AsyncOpenAI(api_key=client.api_key, base_url=BASE_URL) as other:
        async with other.audio.speech.with_streaming_response.create(**{**HELLO, "input": "Not at once."}) as response:
            return len([piece async for piece in response.iter_bytes()]) > 0


print(
    json.dumps(
        {
            "models": [model.id for model in client.models.list()],
            "formats": formats,
            "streamed": pieces > 1,
            "events": {"types": types, "sound": sound > 2000, "tokens": usage["total_tokens"]},
            "warned": warned.response.headers["x-warning"],
            "errors": errors,
            "retried": [statuses[0], *answers],
            "asynchronous": asyncio.run(asynchronously()),
        }
    )
)
