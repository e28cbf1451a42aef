/** The file must declare its charset within this many bytes: enough for a long comment before it. */
const headLength = 4096
const escapeByte = 0x1b

const marks = [
  { label: 'utf-8', mark: [0xef, 0xbb, 0xbf] },
  { label: 'utf-16le', mark: [0xff, 0xfe] },
  { label: 'utf-16be', mark: [0xfe, 0xff] },
]

/**
 * Decodes a file by its byte order mark; else as UTF-8, whatever its META says, if at least most of its non-ASCII part
 * is valid UTF-8, because other charsets hardly ever look like it (except ISO-2022-JP, which is all ASCII); else by the
 * charset of its META; else as windows-1252, as browsers do.
 */
export function decodeFile(input: string | Uint8Array): string {
  if (typeof input === 'string') return input.replace(/^\uFEFF/, '')
  const marked = marks.find(({ mark }) => mark.every((byte, index) => input[index] === byte))
  if (marked) return new TextDecoder(marked.label).decode(input)
  const label = labelIn(input)
  const named = decoderOf(label)
  if (named.encoding === 'iso-2022-jp' && input.includes(escapeByte)) return named.decode(input)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(input)
  } catch {
    const text = new TextDecoder('utf-8').decode(input)
    return isMostlyRight(text, label) ? text : named.decode(input)
  }
}

/** True if few bytes are invalid: at most one for four valid non-ASCII characters, or for each if META names Unicode. */
function isMostlyRight(text: string, label: string): boolean {
  let [right, wrong] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0xfffd) wrong++
    else if (code > 0x7f) right++
  }
  return right >= wrong * (namesUnicode(label) ? 1 : 4)
}

function labelIn(input: Uint8Array): string {
  const head = new TextDecoder('windows-1252').decode(input.subarray(0, headLength))
  const tags = head.split(/<meta\s/i).slice(1)
  const named = tags.flatMap((tag) => /charset *= *["']?([\w.:-]+)/i.exec(tag.split('>')[0] ?? '')?.[1] ?? [])
  return named[0] ?? ''
}

function namesUnicode(label: string): boolean {
  return /^(utf|unicode)/i.test(label)
}

function decoderOf(label: string): TextDecoder {
  // A META that names Unicode is wrong: in UTF-16 it could not be read, and files in UTF-8 do not get here.
  if (!label || namesUnicode(label)) return new TextDecoder('windows-1252')
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder('windows-1252')
  }
}
