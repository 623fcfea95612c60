// The players of sounds: an element of the browser, or samples from the socket.
import { base } from './api'
import type { Position, Told } from './worklet'

// Track is a sound that plays. Times are in seconds.
export interface Track {
  readonly at: number
  readonly length: number | null // null while unknown
  readonly playing: boolean
  play: () => void
  pause: () => void
  seek: (to: number) => void
  watch: (changed: () => void) => () => void
  release: () => void
}

class Watched {
  private readonly watchers = new Set<() => void>()
  watch(changed: () => void) {
    this.watchers.add(changed)
    return () => { this.watchers.delete(changed) }
  }
  protected changed() { this.watchers.forEach(changed => changed()) }
}

// ElementTrack plays the sound at an address.
export class ElementTrack extends Watched implements Track {
  private readonly element = new Audio()
  constructor(private readonly address: string) {
    super()
    this.element.src = address
    for (const name of ['play', 'pause', 'ended', 'seeked', 'durationchange']) {
      this.element.addEventListener(name, () => this.changed())
    }
  }
  get at() { return this.element.currentTime }
  get length() { return Number.isFinite(this.element.duration) ? this.element.duration : null }
  get playing() { return !this.element.paused }
  play() { this.element.play().catch(() => this.changed()) }
  pause() { this.element.pause() }
  seek(to: number) { this.element.currentTime = to; this.changed() }
  release() {
    this.element.pause()
    this.element.removeAttribute('src')
    URL.revokeObjectURL(this.address)
  }
}

// rate is the sample rate in hertz.
export const rate = 24000

let context: AudioContext | undefined
let module: Promise<void> | undefined

// canStream reports whether samples can be played. Browsers only have worklets in a secure context.
export const canStream = () => 'AudioWorkletNode' in window && isSecureContext

// SampleTrack plays samples while they are added.
export class SampleTrack extends Watched implements Track {
  private readonly pieces: Int16Array<ArrayBuffer>[] = []
  private total = 0
  private frame = 0
  private complete = false
  playing = false

  private constructor(private readonly node: AudioWorkletNode) {
    super()
    node.port.onmessage = ({ data }: MessageEvent<Position>) => {
      this.frame = data.at
      if (data.over) { this.playing = false; context?.suspend() }
      if (data.over) this.changed()
    }
  }

  static async open(): Promise<SampleTrack> {
    context ??= new AudioContext({ sampleRate: rate })
    void context.resume() // while the person's click still permits it
    module ??= context.audioWorklet.addModule(new URL('console/assets/worklet.js', base).href)
    try {
      await module
    } catch (error) {
      module = undefined
      throw error
    }
    const node = new AudioWorkletNode(context, 'recital-player', { numberOfInputs: 0, outputChannelCount: [1] })
    node.connect(context.destination)
    return new SampleTrack(node)
  }

  get at() { return this.frame / rate }
  get length() { return this.total / rate }
  get empty() { return this.total === 0 }

  add(samples: Int16Array<ArrayBuffer>) {
    this.pieces.push(samples)
    this.total += samples.length
    this.tell({ add: samples })
    this.changed()
  }
  // finish marks the end of the samples.
  finish() { this.complete = true; this.tell({ complete: true }); this.changed() }
  play() {
    if (this.complete && this.frame >= this.total) this.seek(0)
    this.playing = true
    this.tell({ playing: true })
    void context?.resume()
    this.changed()
  }
  pause() {
    this.playing = false
    this.tell({ playing: false })
    void context?.suspend()
    this.changed()
  }
  seek(to: number) {
    this.frame = Math.max(0, Math.min(this.total, Math.round(to * rate)))
    this.tell({ seek: this.frame })
    this.changed()
  }
  release() {
    this.tell({ release: true, playing: false })
    this.node.disconnect()
    this.playing = false
  }
  private tell(told: Told) { this.node.port.postMessage(told) }

  // peaks returns the loudest samples of equal parts of the sound so far, from 0 to 1.
  peaks(parts: number): number[] {
    const peaks = new Array<number>(parts).fill(0)
    let at = 0
    for (const piece of this.pieces) {
      for (let i = 0; i < piece.length; i += 8) {
        const part = Math.min(parts - 1, Math.floor((at + i) * parts / this.total))
        peaks[part] = Math.max(peaks[part]!, Math.abs(piece[i]!))
      }
      at += piece.length
    }
    const loudest = Math.max(...peaks, 300)
    return peaks.map(peak => peak / loudest)
  }

  // file returns the sound so far as a WAV file.
  file(): Blob { return new Blob([header(this.total * 2), ...this.pieces], { type: 'audio/wav' }) }
}

const headerSize = 44

// header returns the header of a WAV file of 16-bit samples with this number of bytes.
function header(bytes: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(headerSize))
  const text = (at: number, name: string) => [...name].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)))
  text(0, 'RIFF'); view.setUint32(4, headerSize - 8 + bytes, true); text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true)
  view.setUint32(24, rate, true); view.setUint32(28, rate * 2, true); view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data'); view.setUint32(40, bytes, true)
  return new Uint8Array(view.buffer)
}

// withoutHeader returns the samples of a message. The first message starts with the header of a WAV file.
export function withoutHeader(message: ArrayBuffer): Int16Array<ArrayBuffer> {
  const riff = message.byteLength >= headerSize && new DataView(message).getUint32(0) === 0x52494646
  const begin = riff ? headerSize : 0
  return new Int16Array(message.slice(begin, begin + ((message.byteLength - begin) & ~1)))
}

// measured returns a WAV file with its length in the header, which is unknown when streaming starts.
export async function measured(file: Blob): Promise<Blob> {
  const start = new DataView(await file.slice(0, headerSize).arrayBuffer())
  if (start.byteLength < headerSize || start.getUint32(0) !== 0x52494646) return file
  if (start.getUint32(36) !== 0x64617461 || start.getUint32(40, true) <= file.size) return file
  start.setUint32(4, file.size - 8, true)
  start.setUint32(40, file.size - headerSize, true)
  return new Blob([start.buffer, file.slice(headerSize)], { type: file.type })
}
