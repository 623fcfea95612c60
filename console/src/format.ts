// Formats numbers, times and amounts for people.
import { words } from './words'

const locale = navigator.language
const whole = new Intl.NumberFormat(locale)
const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })

export const number = (n: number) => whole.format(n)
export const compact = (n: number) => short.format(n)
export const characters = (n: number) => words.characters(n, number(n))

// countCharacters counts Unicode code points, like the service.
export const countCharacters = (text: string) => [...text].length

const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const times = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })

export const date = (seconds: number) => dates.format(seconds * 1000)
export const dateTime = (seconds: number) => times.format(seconds * 1000)
export const utc = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' UTC'

// day formats a calendar day, which has no zone.
export const day = (iso: string, style: 'short' | 'full' = 'short') =>
  new Date(iso + 'T00:00:00Z').toLocaleDateString(locale, {
    timeZone: 'UTC', day: 'numeric', month: 'short', ...(style === 'full' ? { year: 'numeric' } : {}),
  })

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
const units: [Intl.RelativeTimeFormatUnit, number][] =
  [['year', 31536000], ['month', 2592000], ['day', 86400], ['hour', 3600], ['minute', 60]]

export function ago(seconds: number): string {
  const past = seconds - Date.now() / 1000
  for (const [unit, length] of units) {
    if (Math.abs(past) >= length) return relative.format(Math.trunc(past / length), unit)
  }
  return words.justNow
}

// clock formats a position in a sound, such as 0:07.
export function clock(seconds: number): string {
  const s = Math.max(0, Math.floor(Number.isFinite(seconds) ? seconds : 0))
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`
}

// money formats an amount in minor units. Intl knows the number of digits of a currency.
export function money(minor: number, currency: string): string {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency: currency.toUpperCase() })
  return format.format(minor / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}

// minorOf returns the number of minor units in a unit of a currency.
export function minorOf(currency: string): number {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency: currency.toUpperCase() })
  return 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2)
}

// fraction formats an amount in units of a currency, which may be less than a minor unit.
export const fraction = (amount: number, currency: string) => new Intl.NumberFormat(locale,
  { style: 'currency', currency: currency.toUpperCase(), maximumFractionDigits: 4 }).format(amount)

const regions = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })
const tongues = new Intl.DisplayNames(locale, { type: 'language', fallback: 'code' })

export function country(code: string): string {
  try { return regions.of(code) ?? code } catch { return code }
}
export function language(code: string): string {
  try { return tongues.of(code) ?? code } catch { return code }
}

// byName sorts the codes of languages by their names.
export function byName(codes: string[]): [string, string][] {
  const named = codes.map(code => [code, language(code)] as [string, string]).filter(([code, name]) => code !== name)
  return named.sort((a, b) => a[1].localeCompare(b[1], locale))
}

// csv quotes fields as in RFC 4180, and disarms fields that a spreadsheet would treat as formulas.
export function csv(rows: (string | number)[][]): string {
  const field = (value: string | number) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value)
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return rows.map(row => row.map(field).join(',')).join('\r\n') + '\r\n'
}

// save makes the browser save a file.
export function save(blob: Blob, name: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

// bytes formats a size with a unit.
export function bytes(n: number): string {
  const power = Math.min(sizes.length - 1, Math.floor(Math.log2(Math.max(1, n)) / 10))
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits: power && 1 })
    .format(n / 1024 ** power)} ${sizes[power]}`
}

// duration formats a time in a suitable unit.
export function duration(seconds: number): string {
  const [value, unit] = seconds >= 172800 ? [seconds / 86400, 'day'] as const
    : seconds >= 7200 ? [seconds / 3600, 'hour'] as const : seconds >= 120 ? [seconds / 60, 'minute'] as const
      : seconds >= 1 || seconds === 0 ? [seconds, 'second'] as const : [seconds * 1000, 'millisecond'] as const
  return new Intl.NumberFormat(locale, {
    style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: value < 10 ? 1 : 0,
  }).format(value)
}

// unix converts an RFC 3339 time to seconds.
export const unix = (iso: string) => Date.parse(iso) / 1000
