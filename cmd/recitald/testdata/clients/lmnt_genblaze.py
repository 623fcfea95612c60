import json
import os
from urllib.request import urlopen

from genblaze_core.exceptions import ProviderError
from genblaze_core.models.enums import Modality
from genblaze_core.models.step import Step
from genblaze_lmnt import LMNTProvider

os.environ["LMNT_BASE_URL"] = os.environ["RECITAL_ADDRESS"]


def generate(key, text, **params):
    step = Step(provider="lmnt", model="aurora", modality=Modality.AUDIO, prompt=text, params=params)
    return LMNTProvider(api_key=key).generate(step).assets[0]


def refused(key, text, **params):
    try:
        generate(key, text, **params)
    except ProviderError as error:
        return str(error.error_code.value)
    return "no error"


def shown(asset):
    with urlopen(asset.url) as content:
        sound = len(content.read()) > 5000
    return {"type": asset.media_type, "sound": sound, "words": "".join(w.word for w in asset.audio.word_timings)}


key = os.environ["RECITAL_KEY"]
print(json.dumps({
    "mp3": shown(generate(key, "Hello from another library.")),
    "wav": shown(generate(key, "Hello from another library.", voice_id="zeke", output_format="wav")),
    "key": refused("rk_wrong", "x"),
    "voice": refused(key, "x", voice_id="nobody"),
}))
