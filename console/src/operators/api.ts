// The client of the admin interface, with the cookie of an operator's or auditor's session.
import { get, send } from '../api'

export interface Who { operator: string; role: 'operator' | 'auditor'; expires_at: string | null }
export interface Alert { id: string; source: string; since: string; lasting: boolean; sentence: string; advice: string }
export interface Finding { check: string; state: string; since?: string; found?: string; advice?: string }
export interface Doctor { instance: string; version: string; at: string; findings: Finding[] }
export interface Figure {
  at: string; requests: number; errors: number; syntheses: number; failures: number; characters: number
  first_audio: number | null; first_audio_p95: number | null; lag: number | null; lag_building: number | null
}
export interface Figures { every: number; figures: Figure[] }
export interface GenerationID { name: string; version: number; generation: number }
export interface Generation extends GenerationID {
  live: boolean; promote: boolean; state: string; reason?: string; instance: string; position: string; progress: number
  events: number; lag: number; rows: number; size: number; parked: number; moved_at: number | null
  created_at: number | null
}
export interface Overview { projections: Generation[]; head: string; at: number | null; instances?: string[] }
export interface Parked extends GenerationID {
  event_id: string; type: string; stream: string; revision: number; position: string; state: string; reason: string
  parked_at: number | null
}
export interface Skip {
  event_id: string; stream: string; revision: number; type: string; by: string; role: string; reason: string
  skipped_at: number; unconfirmed: boolean
}
export interface LogEvent {
  position: string; id: string; stream: string; revision: number; type: string; created: string
  data: unknown; metadata: unknown
}
export interface EventPage { events: LogEvent[]; next: string | null; read: number }
export interface Kinds { types: string[]; streams: string[] }
export interface Listed {
  account_id: string; opened_at: string; plan: string; subscribed?: boolean; operator?: boolean
}
export interface AccountPage { accounts: Listed[]; next_page_token: string | null }
export interface Account {
  account_id: string; as_of: string; opened_at: string; state: string; plan: string; entitled_until: string | null
  operator: boolean; accepted_tos: boolean; wants_email: boolean | null; api_keys: string[]
  subscription: { id: string; status: string; plan: string; period_end: string; cancel_at: string | null } | null
  usage: {
    plan: string; period_start: string; period_end: string; character_limit: number | null; characters: number
    reserved: number; credit_left: number
  } | null
  instant_voices: number; professional_voices: number; sessions_ended_before: string | null
  folded_from: { stream: string; revision: number; at: string }[]
}
export interface Erasure {
  state: string; complete: boolean; closed_at: string | null; erased_at: string | null; erased_again_due: string | null
  erased_again_at: string | null; key_destroyed_at: string | null; left: { what: string; count: number }[]
}
export interface Entry {
  at: string; kind: string; account_id: string | null; session_id: string | null; sentence: string
  actor: {
    kind: string; name?: string; role?: string; address?: string; reason?: string; key?: string; session?: string
  }
  correlation: string; causation: string; event_id: string; stream: string; revision: number; position: string
  personal?: Record<string, string>
}
export interface EntryPage { entries: Entry[]; next_page_token: string | null; position: string }
export interface Head { log: string; count: number; hash: string; streams: number; at: string; key: string }
export interface HeadPage {
  log: string; heads: { revision: number; position: string; head: Head }[]; next: number | null
}
export interface Verification {
  part: number; intact: boolean; events: number; foreign: number; heads: number; uncovered: number; findings: string[]
  last?: Head
}
export type Area = 'sessions' | 'billing' | 'activity' | 'operators'

const part = encodeURIComponent

// query omits empty parameters.
export const query = (of: Record<string, string | undefined>) =>
  new URLSearchParams(Object.entries(of).filter((one): one is [string, string] => !!one[1])).toString()

// why returns the header of a reason. Headers contain bytes, so the reason is encoded as UTF-8.
const why = (reason: string) =>
  reason.trim() ? { 'x-recital-reason': String.fromCharCode(...new TextEncoder().encode(reason.trim())) } : {}
const act = (method: string, path: string, body?: unknown, reason = '') =>
  send(method, path, body, undefined, why(reason) as Record<string, string>)

const idOf = ({ name, version, generation }: GenerationID) => ({ name, version, generation })

export const api = {
  who: () => get<Who>('admin/session'),
  signIn: (token: string) => send('POST', 'admin/session', undefined, undefined, { authorization: `Bearer ${token}` }),
  signOut: () => send('DELETE', 'admin/session'),
  alerts: async () => (await get<{ alerts: Alert[] }>('admin/alerts')).alerts,
  clearAlert: (id: string) => act('POST', `admin/alerts/${part(id)}/clear`, {}),
  doctor: () => get<Doctor>('admin/doctor'),
  figures: () => get<Figures>('admin/figures'),
  models: () => get<Overview>('admin/projections'),
  rebuild: (names: string[], promote: boolean, reason: string) =>
    act('POST', 'admin/projections/rebuild', { projections: names, promote }, reason),
  promote: (one: GenerationID, reason: string) =>
    act('POST', 'admin/projections/promote', { generations: [idOf(one)] }, reason),
  rollBack: ({ name, version }: GenerationID, reason: string) =>
    act('POST', 'admin/projections/rollback', { name, version }, reason),
  retire: (one: GenerationID, reason: string) => act('POST', 'admin/projections/retire', idOf(one), reason),
  parked: async () => (await get<{ parked: Parked[] }>('admin/projections/parked')).parked,
  retry: (one: Parked) => act('POST', 'admin/projections/parked/retry', { ...idOf(one), event_id: one.event_id }),
  skips: async () => (await get<{ skips: Skip[] }>('admin/skips')).skips,
  skip: (event_id: string, reason: string) => act('POST', 'admin/skips', { event_id }, reason),
  confirmSkip: (event: string, reason: string) => act('POST', `admin/skips/${part(event)}/confirm`, {}, reason),
  unskip: (event: string, reason: string) => act('DELETE', `admin/skips/${part(event)}`, undefined, reason),
  kinds: () => get<Kinds>('admin/log/kinds'),
  events: (of: Record<string, string | undefined>) => get<EventPage>('admin/log/events?' + query(of)),
  accounts: (page: string) => get<AccountPage>('admin/accounts/list?' + query({ limit: '50', page_token: page })),
  accountsOf: async (email: string, reason: string) =>
    (await get<{ accounts: Listed[] }>('admin/audit/accounts?' + query({ email, reason }))).accounts,
  account: (id: string, asOf?: string) => get<Account>(`admin/accounts/${part(id)}?` + query({ as_of: asOf })),
  erasure: (id: string) => get<Erasure>(`admin/accounts/${part(id)}/erasure`),
  credit: (id: string, characters: number, grant: string, reason: string) =>
    act('POST', `admin/accounts/${part(id)}/credit`, { characters, grant }, reason),
  setOperator: (id: string, is: boolean, reason: string) =>
    act(is ? 'POST' : 'DELETE', `admin/accounts/${part(id)}/operator`, is ? {} : undefined, reason),
  entries: (area: Area, of: Record<string, string | undefined>) =>
    get<EntryPage>(`admin/audit/${area}?` + query(of)),
  heads: (from: number) => get<HeadPage>(`admin/audit/heads?from=${from}`),
  key: () => get<{ log: string; key: string }>('admin/audit/key'),
}
