// The media types of clips.
import type { Clip } from './api'
import { words } from './words'

const extensions: Record<string, string> = {
  'audio/mpeg': 'mp3', 'audio/wav': 'wav', 'audio/aac': 'aac', 'audio/webm': 'webm', 'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'application/vnd.lmnt.audio-int16': 'pcm', 'application/vnd.lmnt.audio-fp32': 'pcm',
}

export const mediaTypes = Object.entries(words.clips.media)
export const extensionOf = (clip: Clip) => extensions[clip.media_type] ?? 'bin'

// canPlay reports whether a browser can play a clip. It cannot play samples without a header.
export const canPlay = (clip: Clip) => clip.media_type.startsWith('audio/')
