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
  unknownVoice: await told(() => client.speech.generate({ text: 'x', voice: 'nobody' })),
}));
