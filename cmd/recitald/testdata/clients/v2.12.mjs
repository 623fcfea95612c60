import { createReadStream } from 'node:fs';
import Lmnt from 'lmnt-node';

const client = new Lmnt({ apiKey: process.env.RECITAL_KEY, baseURL: process.env.RECITAL_ADDRESS });
const told = async (does) => { try { await does(); return 'nothing'; } catch (error) { return `${error.constructor.name} ${error.status} ${error.type}`; } };

async function say(options) {
  const session = client.speech.sessions.create({ voice: 'leah', ...options });
  session.sendText('This is ');
  session.sendText('streamed.');
  session.sendFlush();
  session.sendText(' And more.');
  session.sendFinish();
  let bytes = 0, words = '', flushes = 0;
  for await (const said of session) {
    if (said.type === 'audio') bytes += said.audio.byteLength ?? said.audio.length;
    if (said.type === 'timestamps') words += said.timestamps.map((word) => word.text).join('');
    if (said.type === 'flush_complete') flushes++;
    if (said.type === 'error') throw new Error(said.error.message);
  }
  return { sound: bytes > 1000, words, flushes, named: session.request_id?.startsWith('req_') };
}

async function haveOwnVoice() {
  let made = await client.voices.create({ file: createReadStream('recording.mp3'), name: 'Mine', tags: ['one', 'two'] });
  while (made.state === 'preparing') { // a slow machine
    await new Promise((passed) => setTimeout(passed, 100));
    made = await client.voices.retrieve(made.id);
  }
  const changed = await client.voices.update(made.id, { name: 'Renamed', starred: true });
  const said = Buffer.from(await (await client.speech.generate({ text: 'With my voice.', voice: made.id, format: 'wav' })).arrayBuffer());
  return {
    state: made.state, owner: made.owner, name: changed.voice.name, shown: (await client.voices.retrieve(made.id)).name,
    starred: (await client.voices.list({ starred: true, owner: 'me' })).length, all: (await client.voices.list()).length,
    said: said.subarray(0, 4).toString(), streamed: await say({ voice: made.id }),
    deleted: (await client.voices.delete(made.id)).success, gone: await told(() => client.speech.generate({ text: 'x', voice: made.id })),
  };
}

const whole = await (await client.speech.generate({ text: 'Hello from version two.', voice: 'leah', format: 'wav' })).arrayBuffer();
const detailed = await client.speech.generateDetailed({ text: 'Hello again.', voice: 'leah', return_timestamps: true });
console.log(JSON.stringify({
  voices: (await client.voices.list()).length,
  voice: (await client.voices.retrieve('zeke')).name,
  plan: (await client.accounts.retrieve()).plan.type,
  whole: Buffer.from(whole).subarray(0, 4).toString(),
  words: detailed.timestamps.map((word) => word.text).join(''),
  streamed: await say({}),
  streamedWithWords: await say({ return_timestamps: true }),
  ownVoice: await haveOwnVoice(),
  unknownVoice: await told(() => client.speech.generate({ text: 'x', voice: 'nobody' })),
}));
