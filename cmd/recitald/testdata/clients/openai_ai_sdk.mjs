import { createOpenAI } from '@ai-sdk/openai';
import * as ai from 'ai';

const generateSpeech = ai.generateSpeech ?? ai.experimental_generateSpeech; // its name before version 7
const provider = createOpenAI({ apiKey: process.env.RECITAL_KEY, baseURL: `${process.env.RECITAL_ADDRESS}/v1` });
const answers = {};
for (const outputFormat of ['mp3', 'opus', 'wav']) {
  const { audio, warnings } = await generateSpeech({
    model: provider.speech('tts-1'), text: 'Hello from the SDK.', voice: 'nova', outputFormat, speed: 1.5,
  });
  answers[outputFormat] = [audio.mediaType, audio.uint8Array.length > 1000, warnings.length].join(' ');
}
try {
  await generateSpeech({ model: provider.speech('aurora'), text: 'Not charged.', voice: 'nobody', maxRetries: 0 });
} catch (error) {
  answers.error = `${error.statusCode} ${error.message}`;
}
console.log(JSON.stringify(answers));
