import { useState } from 'preact/hooks'
import { pronunciations, type Pronunciation } from '../account'
import { byName, language, number } from '../format'
import { announce } from '../live'
import { tongues } from '../tongues'
import { Choice, Dialog, Empty, Field, Form, Header, Icon, Loaded, Select, toast, undoable, useResource } from '../ui'
import { words } from '../words'

const w = words.pronunciations
const pageSize = 100

// withPhonemes are the languages that have a table of phonemes.
const withPhonemes = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ru', 'ja', 'zh']
const allLanguages = byName(tongues), phonemeLanguages = byName(withPhonemes)

type Open = { entry: Pronunciation | null }

export function Pronunciations() {
  const [page, setPage] = useState(1)
  const [open, setOpen] = useState<Open | null>(null)
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set())
  const list = useResource(() => pronunciations.list(page, pageSize), ['pronunciations'], String(page))
  const remove = (one: Pronunciation) => {
    setRemoved(old => new Set(old).add(one.id))
    undoable(w.removed, async () => { await pronunciations.remove(one.id); announce('pronunciations') },
      () => setRemoved(old => new Set([...old].filter(id => id !== one.id))))
  }
  return <>
    <Header title={w.title} lead={w.lead}>
      <button class="button primary" onClick={() => setOpen({ entry: null })}><Icon name="plus" />{w.add}</button>
    </Header>
    <Loaded of={list} rows={4}>{({ pronunciations: entries, total }) => {
      const shown = entries.filter(one => !removed.has(one.id))
      const pages = Math.max(1, Math.ceil(total / pageSize))
      if (shown.length === 0 && page === 1)
        return <div class="card"><Empty icon="pronunciations" title={w.none} lead={w.noneLead} /></div>
      return <>
        <Table entries={shown} onEdit={entry => setOpen({ entry })} onRemove={remove} />
        {pages > 1 && <nav class="pager" aria-label={w.page(number(page), number(pages))}>
          <button class="button small" disabled={page <= 1} onClick={() => setPage(page - 1)}>{w.previous}</button>
          <span>{w.page(number(page), number(pages))}</span>
          <button class="button small" disabled={page >= pages} onClick={() => setPage(page + 1)}>{w.next}</button>
        </nav>}
      </>
    }}</Loaded>
    {open && <Edit entry={open.entry} onClose={() => setOpen(null)} />}
  </>
}

function Table({ entries, onEdit, onRemove }: {
  entries: Pronunciation[]; onEdit: (one: Pronunciation) => void; onRemove: (one: Pronunciation) => void
}) {
  return <div class="table stack" tabIndex={0} role="group" aria-label={w.title}>
    <table>
      <thead><tr><th>{w.word}</th><th>{w.spokenAs}</th><th>{w.language}</th><th class="end">
        <span class="hidden">{words.keys.actions}</span></th></tr></thead>
      <tbody>{entries.map(one => <tr key={one.id}>
        <th scope="row"><bdi class="name">{one.word}</bdi></th>
        <td><bdi class="spoken">{one.ipa !== null ? `/${one.ipa}/` : one.spoken}</bdi></td>
        <td>{one.language === null ? w.everyLanguage : language(one.language)}</td>
        <td class="end">
          <button class="button small" aria-label={w.editOf(one.word)} onClick={() => onEdit(one)}>{w.edit}</button>
          <button class="button small danger-text" aria-label={w.removeOf(one.word)}
            onClick={() => onRemove(one)}>{w.remove}</button>
        </td>
      </tr>)}</tbody>
    </table>
  </div>
}

// Edit adds or changes an entry. Word and language identify an entry, so they cannot be changed.
function Edit({ entry, onClose }: { entry: Pronunciation | null; onClose: () => void }) {
  const [word, setWord] = useState(entry?.word ?? '')
  const [how, setHow] = useState<'spoken' | 'ipa'>(entry?.ipa != null ? 'ipa' : 'spoken')
  const [text, setText] = useState(entry?.ipa ?? entry?.spoken ?? '')
  const [code, setCode] = useState(entry?.language ?? '')
  const chooseHow = (next: 'spoken' | 'ipa') => {
    setHow(next)
    setText('')
    if (!entry && next === 'ipa' && !withPhonemes.includes(code)) setCode('en')
  }
  const options: [string, string][] = how === 'ipa' ? phonemeLanguages : [['', w.everyLanguage], ...allLanguages]
  return <Dialog title={entry ? w.editTitle : w.add} onClose={onClose}>
    <Form submit={words.save} disabled={!word.trim() || !text.trim()} onCancel={onClose} action={async () => {
      await pronunciations.set({ word: word.trim(), spoken: how === 'spoken' ? text.trim() : null,
        ipa: how === 'ipa' ? text.trim() : null, language: code || null })
      announce('pronunciations')
      onClose()
      toast(w.saved)
    }}>
      {entry ? <p><strong class="word">
        <bdi>{entry.word}</bdi></strong> {entry.language === null ? w.everyLanguage : language(entry.language)}</p>
        : <Field label={w.word} hint={w.wordHint}>
          <input value={word} maxLength={100} autofocus autocomplete="off"
            onInput={e => setWord(e.currentTarget.value)} />
        </Field>}
      <Choice label={w.spokenAs} value={how} onChange={chooseHow}
        options={[['spoken', w.respelling], ['ipa', w.phonemes]]} />
      <Field label={how === 'ipa' ? w.phonemes : w.respelling} hint={how === 'ipa' ? w.phonemesHint : w.respellingHint}>
        <input value={text} maxLength={200} autocomplete="off" spellcheck={false}
          onInput={e => setText(e.currentTarget.value)} />
      </Field>
      {!entry && <Field label={w.language}><Select value={code} options={options} onChange={setCode} /></Field>}
    </Form>
  </Dialog>
}
