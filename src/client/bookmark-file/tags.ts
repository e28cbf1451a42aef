import { Tokenizer } from 'htmlparser2'
import type { Attributes } from './attributes.ts'

/** The receiver of the tags and texts of a file, in their order. */
export interface TagListener {
  open(name: string, attributes: Attributes): void
  close(name: string): void
  text(text: string): void
}

/** As much is read without a turn of the page in between. */
const pieceLength = 16_384

/**
 * Reads the tags of HTML, each by itself. A parser would keep the list of those that are open and search it at every tag:
 * of thousands that nobody closes, that takes minutes. The platform's DOMParser repeats an unclosed A in the items that
 * follow, and workers have none.
 *
 * @returns one step for each piece of the text, which can be taken one after the other
 */
export function* readTags(html: string, listener: TagListener): Generator<void> {
  // A line break is one character, whatever the file has.
  const textOf = (start: number, end: number) => html.slice(start, end).replace(/\r\n?/g, '\n')
  const nameOf = (start: number, end: number) => html.slice(start, end).toLowerCase()
  let [tag, name, value] = ['', '', '']
  let attributes: Attributes = {}
  const open = () => listener.open(tag, attributes)
  const nothing = () => {}
  const tokenizer = new Tokenizer(
    {},
    {
      onopentagname(start, end) {
        tag = nameOf(start, end)
        attributes = {}
      },
      onattribname(start, end) {
        name = nameOf(start, end)
        value = ''
      },
      onattribdata(start, end) {
        value += textOf(start, end)
      },
      onattribentity(code) {
        value += String.fromCodePoint(code)
      },
      onattribend() {
        if (!Object.hasOwn(attributes, name)) attributes[name] = value
      },
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (start, end) => listener.close(nameOf(start, end)),
      ontext: (start, end) => listener.text(textOf(start, end)),
      ontextentity: (code) => listener.text(String.fromCodePoint(code)),
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  )
  for (let start = 0, end = 0; start < html.length; start = end) {
    end = start + pieceLength
    // CRLF is one line break.
    while (html[end - 1] === '\r') end++
    tokenizer.write(html.slice(start, end))
    yield
  }
  tokenizer.end()
}
