import { createLMNT } from '@ai-sdk/lmnt';
import { experimental_generateSpeech as generateSpeech } from 'ai';

const provider = createLMNT({ apiKey: process.env.RECITAL_KEY });
const { audio, warnings } = await generateSpeech({
  model: provider.speech('aurora'), text: 'Hello from another client.', outputFormat: 'mp3', language: 'en', speed: 1.2,
  providerOptions: { lmnt: { temperature: 0.8, topP: 0.9, sampleRate: 16000, conversational: true, seed: 7 } },
});
console.log(JSON.stringify({ type: audio.mediaType, sound: audio.uint8Array.length > 1000, warnings: warnings.length }));
