import asyncio
import json
import os

from pipecat.frames.frames import EndFrame, TTSAudioRawFrame, TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.workers.runner import WorkerRunner


class Ear(FrameProcessor):
    """Counts the seconds of speech that pass."""

    seconds = 0.0

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self.seconds += frame.num_frames / frame.sample_rate
        await self.push_frame(frame, direction)


async def main():
    voice = OpenAITTSService(
        base_url=os.environ["RECITAL_ADDRESS"] + "/v1",
        api_key=os.environ["RECITAL_KEY"],
        settings=OpenAITTSService.Settings(model="aurora", voice="nova"),
    )
    ear = Ear()
    worker = PipelineWorker(Pipeline([voice, ear]), params=PipelineParams(audio_out_sample_rate=24000))
    await worker.queue_frames([TTSSpeakFrame("Hello from Pipecat."), EndFrame()])
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()
    print(json.dumps({"sound": ear.seconds > 0.5}))


asyncio.run(main())
