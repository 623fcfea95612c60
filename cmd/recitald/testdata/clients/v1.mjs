import { Speech } from 'lmnt-node';

const speech = new Speech(process.env.RECITAL_KEY, process.env.RECITAL_ADDRESS);
const told = async (does) => { try { await does(); return 'nothing'; } catch (error) { return error.message; } };

async function say(options, voice = 'leah') {
  const session = speech.synthesizeStreaming(voice, options);
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

async function haveOwnVoice() {
  let made = await speech.createVoice('Mine', false, ['recording.mp3'], 'instant', null, null);
  while (made.state === 'preparing') { // a slow machine
    await new Promise((passed) => setTimeout(passed, 100));
    made = await speech.fetchVoice(made.id);
  }
  const changed = await speech.updateVoice(made.id, { name: 'Renamed', starred: true });
  const said = await speech.synthesize('With my voice.', made.id, { format: 'wav' });
  return {
    state: made.state, owner: made.owner, name: changed.voice.name, shown: (await speech.fetchVoice(made.id)).name,
    starred: (await speech.fetchVoices({ starred: true, owner: 'me' })).length, all: (await speech.fetchVoices()).length,
    said: said.audio.subarray(0, 4).toString(), streamed: await say({}, made.id),
    deleted: (await speech.deleteVoice(made.id)).success, gone: await told(() => speech.synthesize('x', made.id)),
  };
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
  ownVoice: await haveOwnVoice(),
  unknownVoice: await told(() => speech.synthesize('x', 'nobody')),
}));
