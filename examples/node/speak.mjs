// Writes a text as speech to hello.mp3 while it is synthesised. It needs Node 18 or later, and no package.
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const address = process.env.RECITAL_ADDRESS ?? 'http://127.0.0.1:8080';

const response = await fetch(`${address}/v1/ai/speech/bytes`, {
  method: 'POST',
  headers: { 'x-api-key': process.env.RECITAL_KEY, 'content-type': 'application/json' },
  body: JSON.stringify({ text: process.argv[2] ?? 'Hello from Node.', voice: 'leah' }),
});
if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);

await pipeline(Readable.fromWeb(response.body), createWriteStream('hello.mp3'));
console.log(`hello.mp3: ${response.headers.get('x-character-count')} characters`);
