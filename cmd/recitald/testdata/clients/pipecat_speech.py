"""A pipeline of Pipecat: a voice, and an ear that hears it."""

from pipecat.frames.frames import BotStoppedSpeakingFrame, EndFrame, TTSAudioRawFrame, TTSSpeakFrame, TTSStoppedFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.workers.runner import WorkerRunner


class Ear(FrameProcessor):
    """Takes the place of a loudspeaker: it counts the seconds of speech, and tells the voice when it has ended."""

    seconds = 0.0

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self.seconds += frame.num_frames / frame.sample_rate
        if isinstance(frame, TTSStoppedFrame):
            await self.push_frame(BotStoppedSpeakingFrame(), FrameDirection.UPSTREAM)
        await self.push_frame(frame, direction)


async def spoken(voice, *texts):
    """Returns whether a voice has spoken texts, and the errors of the pipeline."""
    ear, errors = Ear(), []
    worker = PipelineWorker(Pipeline([voice, ear]), params=PipelineParams(audio_out_sample_rate=24000))

    @worker.event_handler("on_pipeline_error")
    async def on_error(worker, frame):
        errors.append(frame.error)

    await worker.queue_frames([*(TTSSpeakFrame(text) for text in texts), EndFrame()])
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await runner.run()
    return {"sound": ear.seconds > 0.5 * len(texts), "errors": errors}
