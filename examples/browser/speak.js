// Plays speech while it streams: each piece of MP3 goes to the audio element as soon as it arrives.
'use strict';

const form = document.querySelector('form');
const audio = document.querySelector('audio');
const output = document.querySelector('output');

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  output.value = '';
  try {
    await speak(form.elements.address.value, form.elements.key.value, form.elements.text.value);
    output.value = 'all of it has arrived';
  } catch (error) {
    output.value = error.message;
  }
});

async function speak(address, key, text) {
  const response = await fetch(`${address}/v1/ai/speech/bytes`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ text, voice: 'leah', format: 'mp3' }),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);

  const source = new MediaSource();
  audio.src = URL.createObjectURL(source);
  audio.play();
  await once(source, 'sourceopen');
  const buffer = source.addSourceBuffer('audio/mpeg');
  const reader = response.body.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    buffer.appendBuffer(piece.value);
    await once(buffer, 'updateend');
  }
  source.endOfStream();
}

const once = (target, event) => new Promise((done) => target.addEventListener(event, done, { once: true }));
