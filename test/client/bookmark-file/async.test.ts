import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { readBookmarkFile, readBookmarkFileAsync } from '../../../src/client/bookmark-file/read.ts'
import { writeBookmarkFile, writeBookmarkFileAsync } from '../../../src/client/bookmark-file/write.ts'
import { BookmarkFileError } from '../../../src/client/errors.ts'
import { depth } from '../../support/depth.ts'
import { FILES, readSample, sequenceOf } from './samples.ts'

/** The file is read in pieces of this length. */
const pieceLength = 16_384
const list = (items: string) => `<DL><p>\n${items}\n</DL>`

t.test('wherever a file is cut into pieces, the same is read', async () => {
  const samples = fc.constantFrom(...FILES.map(readSample)).map((html) => html.slice(0, pieceLength - 100))
  const mixed = fc
    .array(
      fc.constantFrom(
        '<DT><A HREF="x&amp;y" TAGS=a>',
        '</A>',
        '\r',
        '\n',
        '\r\n',
        '&#x1F98A;',
        '&lt',
        '🦊',
        '<!-- -',
        '-->',
        '<DD>',
        '<H3>',
        '</H3>',
        'text',
        '<title>',
        '</title>',
      ),
    )
    .map((parts) => list(parts.join('')))
  const file = fc.oneof(samples, mixed)
  await fc.assert(
    fc.asyncProperty(file, fc.double({ min: 0, max: 1, noNaN: true }), async (html, share) => {
      const padding = ' '.repeat(pieceLength - Math.floor(share * Math.min(html.length, pieceLength)))
      const [whole, pieces] = [readBookmarkFile(padding + html), await readBookmarkFileAsync(padding + html)]
      assert.deepEqual(sequenceOf(pieces), sequenceOf(whole))
    }),
    { numRuns: depth(300, 5000) },
  )
})

t.test('while a large file is read or written, the page gets its turns', async (t) => {
  const html = list('<DT><A HREF="https://example.org/">Example</A>\n'.repeat(10_000))
  // Each look at the clock finds that a slice of time is over.
  let time = 0
  t.intercept(performance, 'now', { value: () => (time += 1000) })
  const reading = await countTurns(() => readBookmarkFileAsync(html))
  const few = reading.result.slice(0, 1000)
  const writing = await countTurns(() => writeBookmarkFileAsync(few))
  t.equal(reading.result.length, 10_000)
  t.ok(reading.turns >= html.length / pieceLength / 2, `${reading.turns} turns`)
  t.ok(writing.turns >= few.length / 2, `${writing.turns} turns`)
  t.equal(writing.result, writeBookmarkFile(few))
})

async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let [turns, isDone] = [0, false]
  const count = () => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isDone = true
  return { result, turns }
}

t.test('what is not a bookmark file is refused', async (t) => {
  await t.rejects(readBookmarkFileAsync('<p>Hello'), BookmarkFileError)
  await t.rejects(readBookmarkFileAsync(''), BookmarkFileError)
})
