import Speech from 'lmnt-node';

const speech = new Speech(process.env.RECITAL_KEY);
const voices = await speech.fetchVoices();
const whole = await speech.synthesize('Hello from version zero.', 'leah', { seed: 5, speed: 1.1 });
const session = speech.synthesizeStreaming('lily');
session.appendText('This is ');
session.appendText('streamed.');
session.finish();
let streamed = 0;
for await (const audio of session) streamed += audio.length;

console.log(JSON.stringify({
  voices: Object.keys(voices.voices).length,
  whole: whole.subarray(0, 4).toString(),
  streamed: streamed > 1000,
}));
