// Recording with the microphone, with its level.
import { useEffect, useRef, useState } from 'preact/hooks'

export const longest = 120 // seconds after which a recording ends

type State = { kind: 'idle' } | { kind: 'refused' } | { kind: 'recording'; since: number }

export interface Recorder {
  state: State
  level: number // current level, from 0 to 1
  seconds: number
  start: () => void
  stop: () => void
}

// useRecorder passes each recording to a function, as a file in the browser's format.
export function useRecorder(onRecorded: (file: File, seconds: number) => void): Recorder {
  const [state, setState] = useState<State>({ kind: 'idle' })
  const [level, setLevel] = useState(0)
  const [seconds, setSeconds] = useState(0)
  const end = useRef(() => {})
  const left = useRef(false)
  useEffect(() => () => { left.current = true; end.current() }, [])
  const start = async () => {
    let stream: MediaStream
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1, noiseSuppression: false,
        echoCancellation: false, autoGainControl: false } })
    } catch {
      setState({ kind: 'refused' })
      return
    }
    const recorder = new MediaRecorder(stream, { audioBitsPerSecond: 128_000 })
    const parts: Blob[] = []
    const since = performance.now()
    const passed = () => (performance.now() - since) / 1000
    const forget = follow(stream, loud => {
      setLevel(loud)
      setSeconds(passed())
      if (passed() >= longest) end.current()
    })
    recorder.ondataavailable = event => parts.push(event.data)
    recorder.onstop = () => {
      forget()
      stream.getTracks().forEach(track => track.stop())
      if (left.current) return
      const type = recorder.mimeType.split(';')[0] ?? ''
      setState({ kind: 'idle' })
      onRecorded(new File(parts, `recording.${type.includes('mp4') ? 'm4a' : 'webm'}`, { type }), passed())
    }
    end.current = () => { if (recorder.state !== 'inactive') recorder.stop() }
    recorder.start()
    setState({ kind: 'recording', since })
    if (left.current) end.current()
  }
  return { state, level, seconds, start, stop: () => end.current() }
}

// follow measures the level until its result is called.
function follow(stream: MediaStream, heard: (level: number) => void): () => void {
  const context = new AudioContext()
  const analyser = new AnalyserNode(context, { fftSize: 2048 })
  context.createMediaStreamSource(stream).connect(analyser)
  const samples = new Float32Array(analyser.fftSize)
  let shown = 0
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples)
    const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)
    shown = Math.max(peak, shown * 0.8) // falls slowly enough to follow
    heard(Math.min(1, shown))
  }, 50)
  return () => { clearInterval(timer); void context.close() }
}
