/** Bytes within which a page names its charset, with room for a long comment. */
const headLength = 4096

/**
 * The text of a file. A byte order mark decides; else it is UTF-8 if all of it is valid, whatever its META says, since
 * other charsets hardly ever look like that; else what META names; else windows-1252, as browsers assume.
 */
export function decodeFile(input: string | Uint8Array): string {
  if (typeof input === 'string') return input.replace(/^\uFEFF/, '')
  const marked = [
    { label: 'utf-16le', mark: [0xff, 0xfe] },
    { label: 'utf-16be', mark: [0xfe, 0xff] },
  ].find(({ mark }) => mark.every((byte, index) => input[index] === byte))
  if (marked) return new TextDecoder(marked.label).decode(input)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(input)
  } catch {
    return decoderNamedIn(input).decode(input)
  }
}

function decoderNamedIn(input: Uint8Array): TextDecoder {
  const head = new TextDecoder('windows-1252').decode(input.subarray(0, headLength))
  const tags = head.split(/<meta\s/i).slice(1)
  const named = tags.flatMap((tag) => /charset *= *["']?([\w.:-]+)/i.exec(tag.split('>')[0] ?? '')?.[1] ?? [])
  const [label = ''] = named
  // A file that is read as ASCII up to here is not in UTF-16, and not in UTF-8 either.
  if (!label || /^(utf|unicode)/i.test(label)) return new TextDecoder('windows-1252')
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder('windows-1252')
  }
}
