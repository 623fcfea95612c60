import { useState } from 'preact/hooks'
import { api, type Key, type NewKey } from '../api'
import { useSigned } from '../app'
import { announce } from '../live'
import { service } from '../speech'
import { ConfirmByTyping, Copy, Dialog, Empty, Field, Form, Header, Icon, Loaded, Notice, Time, toast } from '../ui'
import { words } from '../words'
import { Hosting } from './hosting'

const w = words.keys

type Open = { kind: 'create' } | { kind: 'rename' | 'revoke'; key: Key }

const nameOf = (key: Key) => key.name || w.unnamed

export function Keys() {
  const { account } = useSigned()
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const create = <button class="button primary" onClick={() => setOpen({ kind: 'create' })}>
    <Icon name="plus" />{w.create}</button>
  return <>
    <Header title={w.title} lead={w.lead}>{create}</Header>
    <Loaded of={account}>
      {({ apikeys }) => apikeys?.length ? <Table keys={apikeys} onOpen={setOpen} />
        : <Empty icon="keys" title={w.none} lead={w.noneLead} />}
    </Loaded>
    <Hosting />
    {open?.kind === 'create' && <Create onClose={close} />}
    {open?.kind === 'rename' && <Rename of={open.key} onClose={close} />}
    {open?.kind === 'revoke' && <ConfirmByTyping title={w.revokeTitle(nameOf(open.key))} lead={w.revokeLead}
      word={w.revokeWord} submit={w.revoke} onClose={close} action={async () => {
        await api.revokeKey(open.key.masked)
        announce('account')
        close()
        toast(w.revoked)
      }} />}
  </>
}

function Table({ keys, onOpen }: { keys: Key[]; onOpen: (open: Open) => void }) {
  return <div class="table stack" tabIndex={0} role="group" aria-label={w.title}>
    <table>
      <thead><tr><th>{w.name}</th><th>{w.key}</th><th>{w.created}</th><th class="end">
        <span class="hidden">{w.actions}</span></th></tr></thead>
      <tbody>
        {keys.map(key => <tr key={key.masked}>
          <th scope="row"><bdi class={key.name ? 'name' : 'name faint'}>{nameOf(key)}</bdi></th>
          <td><code>{key.masked}</code></td>
          <td><Time at={key.created_at} /></td>
          <td class="end">
            <button class="button small" onClick={() => onOpen({ kind: 'rename', key })}>{w.rename}</button>
            <button class="button small danger-text" onClick={() => onOpen({ kind: 'revoke', key })}>{w.revoke}</button>
          </td>
        </tr>)}
      </tbody>
    </table>
  </div>
}

function Name({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  return <Field label={w.name} hint={w.nameHint}>
    <input value={value} maxLength={200} autofocus autocomplete="off" onInput={e => onChange(e.currentTarget.value)} />
  </Field>
}

function Create({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [made, setMade] = useState<NewKey & { named: boolean }>()
  if (made) return <Shown made={made} onClose={onClose} />
  return <Dialog title={w.create} onClose={onClose}>
    <Form submit={w.create} onCancel={onClose} action={async () => {
      const key = await api.newKey()
      const named = !name.trim() || await api.nameKey(key.masked, name.trim()).then(() => true, () => false)
      announce('account')
      setMade({ ...key, named })
    }}>
      <Name value={name} onChange={setName} />
    </Form>
  </Dialog>
}

function Shown({ made, onClose }: { made: NewKey & { named: boolean }; onClose: () => void }) {
  const call = `curl -sS ${service()}/v1/ai/speech/bytes \\
  -H 'x-api-key: ${made.apikey}' \\
  -H 'content-type: application/json' \\
  -d '{"text": "Hello world.", "voice": "leah"}' \\
  -o hello.mp3`
  return <Dialog title={w.shownTitle} onClose={onClose}>
    <p>{w.shownLead}</p>
    {!made.named && <Notice kind="warning">{w.notNamed}</Notice>}
    <div class="secret"><code>{made.apikey}</code><Copy text={made.apikey} /></div>
    <h3>{w.tryIt}</h3>
    <div class="code"><pre tabIndex={0}>{call}</pre><Copy text={call} /></div>
    <footer><button class="button primary" onClick={onClose}>{w.done}</button></footer>
  </Dialog>
}

function Rename({ of, onClose }: { of: Key; onClose: () => void }) {
  const [name, setName] = useState(of.name ?? '')
  return <Dialog title={w.renameTitle} onClose={onClose}>
    <Form submit={words.save} disabled={!name.trim()} onCancel={onClose} action={async () => {
      await api.nameKey(of.masked, name.trim())
      announce('account')
      onClose()
      toast(w.renamed)
    }}>
      <Name value={name} onChange={setName} />
    </Form>
  </Dialog>
}
