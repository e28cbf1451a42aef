import fc from 'fast-check'

/** A link or folder that a person saved. */
export interface Item {
  title: string
  /** Undefined for a folder. */
  url: string | undefined
  description: string | undefined
  tags: string[]
  seconds: number
  children: Item[]
}

/** The way a program writes bookmark files. */
export interface Style {
  charset: string
  lineEnd: string
  indent: string
  isLowerCase: boolean
  /** Titles and descriptions are not escaped, as in files of buku and old versions of linkding. */
  isUnescaped: boolean
  /** Items end with `</DT>` and `</DD>`, as in files of Shaarli. */
  closesItems: boolean
  /** Links, folders' titles and the outermost list have no end tags. */
  isUnclosed: boolean
  /** Descriptions are in Scuttle's attribute instead of a DD. */
  describesInAttribute: boolean
}

const charsets = ['utf-8', 'utf-8 with mark', 'utf-16le', 'utf-16be', 'windows-1251', 'koi8-r', 'iso-8859-15']
export const style: fc.Arbitrary<Style> = fc.record({
  charset: fc.constantFrom(...charsets),
  lineEnd: fc.constantFrom('\n', '\r\n', '\r', '\n\r'),
  indent: fc.constantFrom('', '    ', '\t'),
  isLowerCase: fc.boolean(),
  isUnescaped: fc.boolean(),
  closesItems: fc.boolean(),
  isUnclosed: fc.boolean(),
  describesInAttribute: fc.boolean(),
})

/** Texts that some programs lose when they read bookmark files, or after which they lose other text. */
const odd = [
  '<script>',
  '<textarea>',
  '<title>',
  '<!--',
  '-->',
  '<canvas>',
  '</b>',
  '<',
  '>',
  '"',
  "'",
  '&',
  'a<b',
  '<x y="',
]
const words = fc.array(fc.constantFrom(...odd, 'word', 'слово', '(x)'), { minLength: 1, maxLength: 5 })
const text = words.map((parts) => parts.join(' '))
const lines = fc.array(text, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('\n'))
const base = {
  title: text,
  description: fc.option(lines, { nil: undefined }),
  tags: fc.uniqueArray(fc.constantFrom('a', 'b c', 'слово'), { maxLength: 2 }),
  seconds: fc.integer({ min: 1, max: 2_000_000_000 }),
}
const plain = { noNullPrototype: true } as const
export const { tree } = fc.letrec<{ tree: Item[]; item: Item }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 3 },
    fc.record({ ...base, url: fc.webUrl({ withQueryParameters: true }), children: fc.constant<Item[]>([]) }, plain),
    fc.record({ ...base, url: fc.constant(undefined), tags: fc.constant<string[]>([]), children: tie('tree') }, plain),
  ),
  tree: fc.array(tie('item'), { maxLength: 5 }),
}))

/** The file that a program of this style writes. */
export function fileOf(items: Item[], style: Style): Uint8Array {
  return encode(write(items, style), style.charset)
}

function write(items: Item[], style: Style): string {
  const { lineEnd, indent, isLowerCase, isUnescaped, closesItems, isUnclosed, describesInAttribute } = style
  const label = style.charset.replace(' with mark', '')
  const referenced = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
  const words = (text: string) => (isUnescaped ? text : referenced(text)).replaceAll('\n', lineEnd)
  const written: string[] = []
  const put = (level: number, line: string) => written.push(indent.repeat(level) + line)
  const writeItem = ({ title, url, description, tags, seconds, children }: Item, level: number) => {
    const inAttribute = describesInAttribute && description !== undefined
    const attributes = [
      ...(url === undefined ? [] : [`HREF="${referenced(url)}"`]),
      `ADD_DATE="${seconds}"`,
      ...(tags.length > 0 ? [`TAGS="${tags.join(',')}"`] : []),
      ...(inAttribute ? [`DESCRIPTION="${referenced(description).replaceAll('\n', lineEnd)}"`] : []),
    ].join(' ')
    const name = url === undefined ? 'H3' : 'A'
    const end = isUnclosed ? '' : `</${name}>`
    put(level, `<DT><${name} ${attributes}>${words(title)}${end}${closesItems ? '</DT>' : ''}`)
    if (description !== undefined && !inAttribute) put(level, `<DD>${words(description)}${closesItems ? '</DD>' : ''}`)
    if (url === undefined) writeList(children, level)
  }
  const writeList = (list: Item[], level: number) => {
    put(level, '<DL><p>')
    for (const item of list) writeItem(item, level + 1)
    put(level, '</DL><p>')
  }
  written.push('<!DOCTYPE NETSCAPE-Bookmark-file-1>', '<!-- This is an automatically generated file. -->')
  written.push(`<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=${label}">`, '<TITLE>Bookmarks</TITLE>')
  writeList(items, 0)
  if (isUnclosed) written.pop()
  const lowerTag = (tag: string) => tag.replace(/^<\/?\w+|\s[A-Z_]+(?==")/g, (name) => name.toLowerCase())
  const cased = isLowerCase
    ? written.map((line) => line.replace(/^\s*<DT><\w+ [^>]*>|^\s*<\/?D[DL]>/, lowerTag))
    : written
  return cased.join(lineEnd)
}

function encode(text: string, charset: string): Uint8Array {
  if (charset === 'utf-8') return Buffer.from(text)
  if (charset === 'utf-8 with mark') return Buffer.from(`\uFEFF${text}`)
  if (charset === 'utf-16le') return Buffer.from(`\uFEFF${text}`, 'utf16le')
  if (charset === 'utf-16be') return Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()
  const all = new TextDecoder(charset).decode(Uint8Array.from({ length: 256 }, (_, byte) => byte))
  // A character that the charset does not have is written as a reference.
  return Buffer.from(
    [...text].flatMap((character) => {
      const byte = all.indexOf(character)
      return byte === -1 ? [...Buffer.from(`&#${character.codePointAt(0)};`)] : [byte]
    }),
  )
}
