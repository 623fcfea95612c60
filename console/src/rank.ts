// A list of any length in an element of limited height, because browsers limit elements to 16 to 33 million pixels. The
// scroll bar selects ranks in proportion, while wheels, keys and fingers scroll by pixels.

// tallest is the height of the scrolled element in pixels.
export const tallest = 8_000_000

// Scroll is the position of a list. top is the scroll position of the element, and at the position in the list, in
// pixels as if all rows had their full height.
export interface Scroll { top: number; at: number }

// Sizes are the height of a row, the visible height, and the number of rows.
export interface Sizes { row: number; view: number; rows: number }

export const heightOf = ({ row, rows }: Sizes) => Math.min(row * rows, tallest)

const farthest = (sizes: Sizes) => Math.max(0, sizes.row * sizes.rows - sizes.view)
const lowest = (sizes: Sizes) => Math.max(0, heightOf(sizes) - sizes.view)
const within = (n: number, most: number) => Math.max(0, Math.min(n, most))

// moved follows the element to another scroll position.
export function moved(old: Scroll, top: number, sizes: Sizes): Scroll {
  const most = farthest(sizes), end = lowest(sizes)
  if (heightOf(sizes) < tallest) return { top, at: within(top, most) }
  if (top <= 0) return { top, at: 0 }
  if (top >= end - 1) return { top, at: most }
  const near = Math.abs(top - old.top) <= sizes.view
  return { top, at: near ? within(old.at + top - old.top, most) : top / end * most }
}

// settled returns the scroll position in proportion to the place. Small movements add up to a deviation from it.
export function settled({ at }: Scroll, sizes: Sizes): number {
  const most = farthest(sizes)
  return most === 0 ? 0 : at / most * lowest(sizes)
}

// to returns the position at which a rank is the first visible one.
export function to(rank: number, sizes: Sizes): Scroll {
  const at = within(rank * sizes.row, farthest(sizes))
  return { at, top: settled({ at, top: 0 }, sizes) }
}

const spare = 8 // minimum number of rows above and below the visible ones
const step = 8 // rows are added and removed in groups, so that most movements do not change the document

// seen returns the ranks of the rows in the document: the first, and the one after the last.
export function seen({ at }: Scroll, { row, view, rows }: Sizes): [number, number] {
  const first = Math.floor((at / row - spare) / step), end = Math.ceil(((at + view) / row + spare) / step)
  return [within(first * step, rows), within(end * step, rows)]
}
