// The part of the player that runs in the audio thread, independent of the page. It has the whole sound, so that it can
// seek by itself.
interface Port { onmessage: (event: { data: Told }) => void; postMessage: (told: Position) => void }
declare class AudioWorkletProcessor { readonly port: Port }
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void

export interface Told { add?: Int16Array; seek?: number; playing?: boolean; complete?: boolean; release?: boolean }

// Position is reported while a sound plays, in frames.
export interface Position { at: number; over: boolean }

const often = 1024 // frames between two reports

class Player extends AudioWorkletProcessor {
  private pieces: Int16Array[] = []
  private total = 0
  private at = 0
  private piece = 0 // index of the piece that contains at
  private begins = 0 // start of that piece
  private told = 0
  private playing = false
  private complete = false
  private released = false

  constructor() {
    super()
    this.port.onmessage = ({ data }) => {
      if (data.add) { this.pieces.push(data.add); this.total += data.add.length }
      if (data.seek !== undefined) this.seek(data.seek)
      this.playing = data.playing ?? this.playing
      this.complete = data.complete ?? this.complete
      this.released = data.release ?? this.released
    }
  }

  private seek(to: number) {
    this.at = Math.max(0, Math.min(to, this.total))
    this.piece = this.begins = 0
    this.told = this.at
  }

  process(_: unknown, outputs: Float32Array[][]): boolean {
    const out = outputs[0]?.[0]
    if (this.released || !out) return !this.released
    if (this.playing) this.fill(out)
    return true
  }

  // fill leaves silence where the sound is not made yet.
  private fill(out: Float32Array) {
    for (let i = 0; i < out.length && this.at < this.total; i++, this.at++) {
      while (this.at - this.begins >= this.pieces[this.piece]!.length) this.begins += this.pieces[this.piece++]!.length
      out[i] = this.pieces[this.piece]![this.at - this.begins]! / 32768
    }
    const over = this.complete && this.at >= this.total
    if (over) this.playing = false
    if (over || this.at - this.told >= often) {
      this.told = this.at
      this.port.postMessage({ at: this.at, over })
    }
  }
}

registerProcessor('recital-player', Player)
