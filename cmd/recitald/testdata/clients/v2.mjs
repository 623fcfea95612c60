import Lmnt from 'lmnt-node';

const client = new Lmnt({ apiKey: process.env.RECITAL_KEY, baseURL: process.env.RECITAL_ADDRESS });
const told = async (does) => { try { await does(); return 'nothing'; } catch (error) { return `${error.constructor.name} ${error.status}`; } };

async function say(options) {
  const session = client.speech.sessions.create({ voice: 'leah', ...options });
  session.appendText('This is ');
  session.appendText('streamed.');
  session.flush();
  session.appendText(' And more.');
  session.finish();
  let bytes = 0, words = '';
  for await (const said of session) {
    if (said.audio) bytes += said.audio.byteLength ?? said.audio.length;
    if (said.durations) words += said.durations.map((word) => word.text).join('');
  }
  return bytes > 1000 ? words : 'silence';
}

const whole = await (await client.speech.generate({ text: 'Hello from version two.', voice: 'leah', format: 'wav' })).arrayBuffer();
console.log(JSON.stringify({
  voices: (await client.voices.list()).length,
  voice: (await client.voices.retrieve('zeke')).name,
  plan: (await client.accounts.retrieve()).plan.type,
  whole: Buffer.from(whole).subarray(0, 4).toString(),
  streamed: await say({}),
  streamedWithWords: await say({ return_extras: true }),
  unknownVoice: await told(() => client.speech.generate({ text: 'x', voice: 'nobody' })),
}));
