// Plays one sound at a time: previews and clips share an element.
import { useEffect, useState } from 'preact/hooks'

const audio = new Audio()
audio.preload = 'none'
let playing = ''
const watchers = new Set<() => void>()
const change = (id: string) => { playing = id; watchers.forEach(watch => watch()) }
let failed = () => {}

audio.addEventListener('ended', () => change(''))
audio.addEventListener('error', () => { if (playing) { change(''); failed() } })

// usePlayer returns the id of the sound that plays, or "", and a function that starts or stops one.
export function usePlayer(): [string, (id: string, address: string, onFailure: () => void) => void] {
  const [shown, setShown] = useState(playing)
  useEffect(() => {
    const watch = () => setShown(playing)
    watchers.add(watch)
    return () => { watchers.delete(watch) }
  }, [])
  return [shown, (id, address, onFailure) => {
    if (playing === id) return silence()
    failed = onFailure
    audio.src = address
    change(id)
    audio.play().catch(error => {
      if (error.name !== 'AbortError' && playing === id) { change(''); onFailure() }
    })
  }]
}

// silence stops the sound.
export function silence() {
  audio.pause()
  if (playing) change('')
}
