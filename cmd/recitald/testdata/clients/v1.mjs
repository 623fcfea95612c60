import { Speech } from 'lmnt-node';

const speech = new Speech(process.env.RECITAL_KEY, process.env.RECITAL_ADDRESS);
const told = async (does) => { try { await does(); return 'nothing'; } catch (error) { return error.message; } };

async function say(options) {
  const session = speech.synthesizeStreaming('leah', options);
  session.appendText('This is ');
  session.appendText('streamed.');
  session.flush();
  session.appendText(' And more.');
  session.finish();
  let bytes = 0, words = '';
  for await (const said of session) {
    bytes += said.audio.byteLength ?? said.audio.length;
    if (said.durations) words += said.durations.map((word) => word.text).join('');
  }
  return bytes > 1000 ? words : 'silence';
}

const whole = await speech.synthesize('Hello from version one.', 'leah', { format: 'wav', return_durations: true, return_seed: true, seed: 7 });
console.log(JSON.stringify({
  voices: (await speech.fetchVoices()).length,
  voice: (await speech.fetchVoice('zeke')).name,
  plan: (await speech.fetchAccount()).plan.type,
  whole: whole.audio.subarray(0, 4).toString(),
  seed: whole.seed,
  words: whole.durations.map((word) => word.text).join(''),
  streamed: await say({}),
  streamedWithWords: await say({ return_extras: true, expressive: 1.2, conversational: true }),
  unknownVoice: await told(() => speech.synthesize('x', 'nobody')),
}));
