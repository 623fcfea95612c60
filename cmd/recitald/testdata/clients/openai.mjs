import OpenAI from 'openai';

const baseURL = `${process.env.RECITAL_ADDRESS}/v1`;
const statuses = [];
const counted = async (url, init) => {
  const response = await fetch(url, init);
  statuses.push(response.status);
  return response;
};
const clientWith = (apiKey, options) => new OpenAI({ apiKey, baseURL, fetch: counted, ...options });
const client = clientWith(process.env.RECITAL_KEY);
const hello = { model: 'aurora', voice: 'alloy', input: 'Hello from OpenAI.' };
const speak = (request, by = client) => by.audio.speech.create({ ...hello, ...request });

// told returns the class and the fields of an error, and the number of attempts.
async function told(request, by) {
  statuses.length = 0;
  try {
    await speak(request, by);
    return 'no error';
  } catch (error) {
    return [error.constructor.name, error.status, error.type, error.code, error.param, statuses.length].join(' ');
  }
}

const formats = {};
for (const response_format of ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']) {
  const response = await speak({ response_format });
  const sound = Buffer.from(await response.arrayBuffer());
  formats[response_format] = [response.headers.get('content-type'), sound.length > 2000].join(' ');
}

const streamed = await speak({ voice: { id: 'zeke' }, input: 'This is streamed. And more. And still more.' });
let pieces = 0;
for await (const piece of streamed.body) pieces += piece.length > 0 ? 1 : 0;

const types = new Set();
let sound = 0, usage = {};
const events = await speak({ stream_format: 'sse', response_format: 'pcm', input: 'These are events.' });
for (const line of (await events.text()).split('\n')) {
  if (!line.startsWith('data: ')) continue;
  const event = JSON.parse(line.slice('data: '.length));
  types.add(event.type);
  sound += event.audio ? Buffer.from(event.audio, 'base64').length : 0;
  usage = event.usage ?? usage;
}

const warned = await speak({ model: 'tts-1', speed: 4, instructions: 'Whisper.', input: 'Faster.' });
await warned.arrayBuffer();

const errors = {
  key: await told({}, clientWith('rk_wrong')),
  voice: await told({ voice: 'nobody' }),
  input: await told({ input: '' }),
  format: await told({ response_format: 'ogg' }),
  quota: await told({ input: 'One too many. '.repeat(20) }, clientWith(process.env.RECITAL_SPENT_KEY)),
};

// The account speaks one text at a time. A client that is refused for that tries again until the first one hangs up.
const busy = clientWith(process.env.RECITAL_BUSY_KEY, { maxRetries: 10 });
const first = await speak({ input: 'A long text that nobody reads. '.repeat(150), speed: 0.25, response_format: 'wav' }, busy);
statuses.length = 0;
const second = speak({ input: 'At last.' }, busy);
while (!statuses.includes(429)) await new Promise((resolve) => setTimeout(resolve, 10));
await first.body.cancel();
const afterwards = (await second).status;

const models = (await client.models.list()).data.map((model) => model.id);
console.log(JSON.stringify({
  models, formats, streamed: pieces > 1, events: { types: [...types], sound: sound > 2000, tokens: usage.total_tokens },
  warned: warned.headers.get('x-warning'), errors, retried: [statuses[0], afterwards],
}));
