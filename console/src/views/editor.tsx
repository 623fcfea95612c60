// The field for the text. Markup is coloured by a copy of the text behind the field, whose own letters are transparent.
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { isMarkup } from '../speech'
import { coloured } from '../ssml'
import { words } from '../words'

const w = words.playground

const mostColoured = 20_000 // characters; longer text cannot be spoken and would be slow to colour

export function Editor({ text, onChange, onSubmit }: {
  text: string; onChange: (text: string) => void; onSubmit: () => void
}) {
  const copy = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const marked = isMarkup(text) && text.length <= mostColoured
  const pieces = useMemo(() => marked ? coloured(text) : [], [marked, text])
  const follow = () => { if (copy.current) copy.current.scrollTop = field.current!.scrollTop }
  useLayoutEffect(follow, [text])
  return <div class={`writing ${marked ? 'marked' : ''}`}>
    {marked && <div class="copy" ref={copy} aria-hidden="true" dir="auto">
      {pieces.map(([kind, piece], i) => kind === 'text' ? piece : <span key={i} class={`ssml-${kind}`}>{piece}</span>)}
        {'\n'}
    </div>}
    <label class="hidden" for="text">{w.text}</label>
    <textarea id="text" ref={field} value={text} placeholder={w.placeholder} rows={7} dir="auto" spellcheck={!marked}
      onScroll={follow}
      onInput={e => onChange(e.currentTarget.value)}
      onKeyDown={e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); onSubmit() } }} />
  </div>
}
