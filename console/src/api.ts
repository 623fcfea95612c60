// The client of the public interface, with the session's cookie. Addresses are relative to the pages, console and
// console/card, so that they work below any path of a proxy.
import { note } from './live'
import { words } from './words'

export const base = new URL(location.pathname.endsWith('/console/card') ? '..' : '.', location.href)

export interface Profile { id: string; name: string; email: string }
export interface Provider { provider: string; issuer: string }
export interface Key { masked: string; name: string | null; created_at: number | null }
export interface NewKey { apikey: string; masked: string }
export interface Account {
  plan: { type: string; commercial_use_allowed: boolean; character_limit: number | null }
  usage: {
    characters: number; playground_characters: number; credit_characters: number
    instant_voices: number | null; period_end: number | null
  }
  apikeys: Key[] | null
  accepted_tos: boolean | null
  wants_email: boolean | null
}
export interface Voice {
  id: string; name: string; state: string; owner: string; type: string; description: string | null
  gender: string | null; starred: boolean | null; tags: string[] | null; preview_url: string | null; reason?: string
}
export interface Day { day: string; api_chars_used: number; playground_chars_used: number }
export interface KeyUsage { api_key: string; chars_used: number; last_day: string }
export interface Period { plan: string; period_end: number; chars_used: number; playground_chars_used: number }
export interface Cap { amount: number | null; currency: string | null; spent: number | null }
export interface Clip {
  id: string; url: string; voice: string; timestamp: number; text: string | null; speed: number | null
  language: string | null; media_type: string
}
export interface ClipPage { clips: Clip[]; page: number; page_size: number; total_clips: number; total_pages: number }
export interface Session {
  id: string; device_label: string | null; country: string | null; created_at: number; updated_at: number
  current: boolean
}
export interface Precheck { dnsmos: number; start_s: number; end_s: number }
export interface WordTime { text: string; start: number; duration: number }

// ApiError is the service's refusal, or a failure to reach it (status 0). A payment that its owner has to confirm comes
// with a client secret.
export class ApiError extends Error {
  constructor(readonly status: number, message: string, readonly clientSecret = '') { super(message) }
  get offline() { return this.status === 0 }
  // passes reports whether a retry may succeed, because the service was unreachable or not ready.
  get passes() { return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504 }
}

// here converts an address of the service, which may have another host name, to the one that the page uses.
export function here(address: string): string {
  const path = /\/(v1\/.*)$/.exec(address)
  return new URL(path?.[1] ?? address, base).href
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError && !error.offline) return error.message
  return navigator.onLine ? words.unreachable : words.offline
}

async function refusal(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => null)
  const wrong = Array.isArray(body?.detail)
    ? body.detail[0]?.msg?.replace(/^Value error, (.)/, (_: string, first: string) => first.toUpperCase())
    : undefined
  const text = wrong ?? body?.error?.message ?? body?.error ?? body?.detail
  const secret = body?.client_secret ?? body?.error?.client_secret ?? ''
  return new ApiError(response.status, typeof text === 'string' ? text : words.refused(response.status), secret)
}

// send returns the response to a request, or throws an ApiError. It calls signedOut when the session has ended.
export async function send(
  method: string, path: string, body?: unknown, signal?: AbortSignal, headers: Record<string, string> = {},
): Promise<Response> {
  const form = body instanceof FormData || body instanceof URLSearchParams
  let response: Response
  try {
    response = await fetch(new URL(path, base), {
      method, signal: signal ?? null, keepalive: method === 'DELETE',
      body: body === undefined || form ? body as BodyInit | null ?? null : JSON.stringify(body),
      headers: body === undefined || form ? headers : { ...headers, 'content-type': 'application/json' },
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, words.unreachable)
  }
  note(response)
  if (response.ok) return response
  if (response.status === 401) dispatchEvent(new Event('signed-out'))
  throw await refusal(response)
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return await (await send('GET', path, undefined, signal)).json()
}

const part = encodeURIComponent
export const api = {
  profile: () => get<Profile>('auth/oauth/validate'),
  providers: () => get<Provider[]>('auth/oauth/providers'),
  account: () => get<Account>('v1/account'),
  voices: () => get<Voice[]>('v1/ai/voice/list'),
  days: () => get<Day[]>('v1/account/daily_usage_history'),
  keyUsage: () => get<KeyUsage[]>('v1/account/key_usage'),
  periods: () => get<Period[]>('v1/account/billing_history'),
  cap: () => get<Cap>('payments/spending-cap'),
  clips: (query: string) => get<ClipPage>('v1/account/clips?' + query),
  sessions: async () => (await get<{ sessions: Session[] }>('v1/account/sessions')).sessions,
  newKey: () => get<NewKey>('v1/account/new_api_key'),
  nameKey: (masked: string, name: string) => send('POST', `v1/account/api_key/${part(masked)}/name`, { name }),
  revokeKey: (masked: string) => send('DELETE', `v1/account/api_key/${part(masked)}`),
  updateVoice: (id: string, change: Partial<Voice>) => send('PUT', `v1/ai/voice/${part(id)}`, change),
  createVoice: async (form: FormData): Promise<Voice> => await (await send('POST', 'v1/ai/voice', form)).json(),
  precheck: async (form: FormData): Promise<Precheck> =>
    await (await send('POST', 'v1/ai/voice/precheck', form)).json(),
  deleteVoice: (id: string) => send('DELETE', `v1/ai/voice/${part(id)}`),
  deleteClip: (id: string) => send('DELETE', `v1/account/clip/${part(id)}`),
  endSession: (id: string) => send('DELETE', `v1/account/sessions/${part(id)}`),
  endSessions: () => send('POST', 'v1/account/sessions/revoke_all'),
  acceptTerms: () => send('POST', 'v1/account/accept_tos'),
  wantEmail: (wants: boolean) =>
    send('POST', 'v1/account/set_email_prefs', new URLSearchParams({ wants_email: String(wants) })),
  closeAccount: () => send('DELETE', 'v1/account'),
  signOut: () => send('GET', 'auth/oauth/logout'),
}

// signInAddress returns the address that leads to a provider and back to the view.
export function signInAddress(provider: string): string {
  const address = new URL('auth/oauth/login', base)
  address.searchParams.set('provider', provider)
  address.searchParams.set('redirect', new URL('console' + location.hash, base).href)
  return address.href
}
