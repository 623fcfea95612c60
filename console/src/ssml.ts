// Splits a text with markup into parts for colouring. A half-written tag is treated as text, without colour.
export type Kind = 'text' | 'mark' | 'tag' | 'attribute' | 'value' | 'entity' | 'comment'
export type Piece = [Kind, string]

const parts =
  /(<!--[\s\S]*?(?:-->|$))|<(\/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+(?:\s*=\s*(?:"[^"<]*"|'[^'<]*'))?)*\s*)(\/?>)|(&(?:\w{1,10}|#\d{1,7}|#x[\da-f]{1,6});)/gi
const attributes = /(\s+)([\w:.-]+)(?:(\s*=\s*)("[^"<]*"|'[^'<]*'))?/g

// coloured splits a text. The concatenated pieces are the text.
export function coloured(text: string): Piece[] {
  const pieces: Piece[] = []
  const add = (kind: Kind, piece: string | undefined) => { if (piece) pieces.push([kind, piece]) }
  let at = 0
  for (const found of text.matchAll(parts)) {
    const [whole, comment, slash, name, inside, end, entity] = found
    add('text', text.slice(at, found.index))
    at = found.index + whole.length
    add('comment', comment)
    add('entity', entity)
    if (name === undefined) continue
    add('mark', '<' + slash)
    add('tag', name)
    let within = 0
    for (const one of inside!.matchAll(attributes)) {
      add('text', one[1]); add('attribute', one[2]); add('mark', one[3]); add('value', one[4])
      within = one.index + one[0].length
    }
    add('text', inside!.slice(within))
    add('mark', end)
  }
  add('text', text.slice(at))
  return pieces
}
