// Requests about the account other than plan, keys and voices.
import { get, send } from './api'

const part = encodeURIComponent

export interface Pronunciation {
  id: string; word: string; spoken: string | null; ipa: string | null; language: string | null
}
export interface PronunciationPage { pronunciations: Pronunciation[]; total: number }
export type Area = 'sessions' | 'billing' | 'activity'
export interface Act {
  at: number; kind: string; sentence: string; by: 'owner' | 'operator' | 'service'
  session_id: string | null; api_key: string | null; address: string | null
}
export interface ActPage { entries: Act[]; next_page_token: string | null }
export interface Project { id: string; name: string; has_api_key: boolean }

async function form<T>(path: string, fields: Record<string, string>): Promise<T> {
  return await (await send('POST', path, new URLSearchParams(fields))).json()
}

export const pronunciations = {
  list: (page: number, size: number) =>
    get<PronunciationPage>(`v1/account/pronunciations?page=${page}&page_size=${size}`),
  set: (entry: Omit<Pronunciation, 'id'>) => send('PUT', 'v1/account/pronunciations', entry),
  remove: (id: string) => send('DELETE', `v1/account/pronunciations/${part(id)}`),
}

export const activity = (area: Area, limit: number, page: string) =>
  get<ActPage>(`v1/account/activity?${new URLSearchParams({ area, limit: String(limit), page_token: page })}`)

export const hosting = {
  projects: (config: string, code: string) =>
    form<{ projects: Project[]; complete: boolean }>('v1/account/hosting/projects',
      { config_id: config, ...(code && { code }) }),
  // set adds a key to a project, or removes it.
  set: (config: string, project: string, on: boolean) =>
    form<{ failed: { message: string }[] }>('v1/account/hosting/env_vars',
      { config_id: config, [on ? 'add_project_names' : 'remove_projects']: JSON.stringify([project]) }),
}
