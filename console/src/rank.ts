// A list of any length in an element of a bounded height: browsers cut elements off at 16 to 33 million pixels. The
// scroll bar leads to ranks in proportion, while wheels, keys and fingers move by the pixels that they say.

// tallest is the height of what scrolls, in pixels.
export const tallest = 8_000_000

// Scroll is where a list is: top is that of the element that scrolls, and at is the place in the list, in pixels as if
// it were as tall as it is long.
export interface Scroll { top: number; at: number }

// Sizes are the height of a row, that of the part that is seen, and how many rows there are.
export interface Sizes { row: number; view: number; rows: number }

export const heightOf = ({ row, rows }: Sizes) => Math.min(row * rows, tallest)

const farthest = (sizes: Sizes) => Math.max(0, sizes.row * sizes.rows - sizes.view)
const lowest = (sizes: Sizes) => Math.max(0, heightOf(sizes) - sizes.view)
const within = (n: number, most: number) => Math.max(0, Math.min(n, most))

// moved follows the element that scrolls to another top.
export function moved(old: Scroll, top: number, sizes: Sizes): Scroll {
  const most = farthest(sizes), end = lowest(sizes)
  if (heightOf(sizes) < tallest) return { top, at: within(top, most) }
  if (top <= 0) return { top, at: 0 }
  if (top >= end - 1) return { top, at: most }
  const near = Math.abs(top - old.top) <= sizes.view
  return { top, at: near ? within(old.at + top - old.top, most) : top / end * most }
}

// settled returns the top that is in proportion with the place, which it drifts from while small movements add up.
export function settled({ at }: Scroll, sizes: Sizes): number {
  const most = farthest(sizes)
  return most === 0 ? 0 : at / most * lowest(sizes)
}

// to returns where a rank is the first that is seen.
export function to(rank: number, sizes: Sizes): Scroll {
  const at = within(rank * sizes.row, farthest(sizes))
  return { at, top: settled({ at, top: 0 }, sizes) }
}

const spare = 8 // rows that are there above and below what is seen, at least
const step = 8 // rows come and go together, so that most movements change nothing in the document

// seen returns the ranks of the rows that are in the document: from the first to before the last.
export function seen({ at }: Scroll, { row, view, rows }: Sizes): [number, number] {
  const first = Math.floor((at / row - spare) / step), end = Math.ceil(((at + view) / row + spare) / step)
  return [within(first * step, rows), within(end * step, rows)]
}
