import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { chunkNonce } from '../../src/client/export-file/chunks.ts'
import { openExport } from '../../src/client/export-file/export-file.ts'
import { depth } from '../support/depth.ts'
import { CHUNK, exportKeys, exportOfSize, HEADER, keys, prefix } from './export-samples.ts'
import { exportHeader, seal, writeExport } from './second-implementation.ts'

const fault = (fault: string, message = /./) => ({ name: 'ExportError', fault, message })

/** A file of three chunks, the last of which is short. */
const file = exportOfSize(2 * 65_536 + 100)

function flip(file: Buffer, index: number, bit: number): Buffer {
  const flipped = Buffer.from(file)
  flipped.writeUInt8(file.readUInt8(index) ^ (1 << bit), index)
  return flipped
}

function chunk(index: number): Buffer {
  return file.subarray(HEADER + index * CHUNK, HEADER + (index + 1) * CHUNK)
}

function faultAt(index: number): string {
  if (index < 4) return 'not-an-export'
  if (index < 5) return 'unknown-version'
  return index < 13 ? 'other-key' : 'damaged'
}

t.test('a flipped bit: each byte of a file of one chunk', async () => {
  const small = exportOfSize()
  for (let index = 0; index < small.length; index++) {
    await assert.rejects(openExport(flip(small, index, index % 8), exportKeys), fault(faultAt(index)))
  }
})

t.test(
  'a flipped bit: each byte of the header and around the borders of the chunks, anywhere else by chance',
  async () => {
    const borders = [HEADER + CHUNK, HEADER + 2 * CHUNK, file.length]
    const near = borders.flatMap((border) => Array.from({ length: 40 }, (_, index) => border - 20 + index))
    const exact = [...Array.from({ length: HEADER }, (_, index) => index), ...near].filter(
      (index) => index < file.length,
    )
    for (const index of exact) await assert.rejects(openExport(flip(file, index, 7), exportKeys), fault(faultAt(index)))
    await fc.assert(
      fc.asyncProperty(fc.nat(file.length - 1), fc.nat(7), async (index, bit) => {
        await assert.rejects(openExport(flip(file, index, bit), exportKeys), fault(faultAt(index)))
      }),
      { numRuns: depth(60, 2000) },
    )
  },
)

t.test('a cut tail, wherever the cut is', async (t) => {
  const at = (length: number) => openExport(file.subarray(0, length), exportKeys)
  await t.rejects(at(0), fault('not-an-export'))
  await t.rejects(at(3), fault('not-an-export'))
  for (const length of [4, 5, 12, 31]) await t.rejects(at(length), fault('damaged', /within its header/))
  await t.rejects(at(HEADER), fault('damaged', /after its header/))
  for (let chunks = 0; chunks < 3; chunks++) {
    const start = HEADER + chunks * CHUNK
    for (const rest of [1, 15, 16, 17, 100, 115]) await t.rejects(at(start + rest), fault('damaged', /truncated/))
  }
  await t.rejects(at(HEADER + CHUNK), fault('damaged'), 'exactly after the first chunk')
  await t.rejects(at(HEADER + 2 * CHUNK), fault('damaged'), 'exactly after the second chunk')
  await t.resolves(at(file.length))
})

t.test('swapped, missing, repeated and foreign chunks', async (t) => {
  const header = file.subarray(0, HEADER)
  const built = (...chunks: Buffer[]) => openExport(Buffer.concat([header, ...chunks]), exportKeys)
  const [a, b, c] = [chunk(0), chunk(1), chunk(2)]
  await t.resolves(built(a, b, c))
  await t.rejects(built(b, a, c), fault('damaged', /Chunk 0/))
  await t.rejects(built(a, c, b), fault('damaged', /Chunk 1/))
  await t.rejects(built(a, c), fault('damaged', /Chunk 1/))
  await t.rejects(built(b, c), fault('damaged', /Chunk 0/))
  await t.rejects(built(a, a, b, c), fault('damaged', /Chunk 1/))
  const other = writeExport(keys.exportKey, new Uint8Array(19), Buffer.alloc(2 * 65_536 + 100, 0x20))
  await t.rejects(built(a, other.subarray(HEADER + CHUNK, HEADER + 2 * CHUNK), c), fault('damaged', /Chunk 1/))
})

t.test('trailing bytes', async (t) => {
  const full = exportOfSize(2 * 65_536)
  for (const length of [1, 16, 17, CHUNK, CHUNK + 1]) {
    const rest = Buffer.alloc(length)
    await t.rejects(openExport(Buffer.concat([full, rest]), exportKeys), fault('trailing-bytes'), `full, ${length}`)
    await t.rejects(openExport(Buffer.concat([file, rest]), exportKeys), fault('damaged', /bytes after its end/))
  }
  await t.rejects(openExport(Buffer.concat([full, full]), exportKeys), fault('trailing-bytes'), 'the file twice')
})

t.test('a last chunk without content is refused', async (t) => {
  const header = exportHeader(keys.exportKey, prefix)
  const empty = seal(keys.exportKey, chunkNonce(header, 0, true), header, new Uint8Array())
  await t.rejects(openExport(Buffer.concat([header, empty]), exportKeys), fault('damaged'))
  const spaces = new Uint8Array(65_536).fill(0x20)
  const first = seal(keys.exportKey, chunkNonce(header, 0, false), header, spaces)
  const last = seal(keys.exportKey, chunkNonce(header, 1, true), header, new Uint8Array())
  await t.rejects(openExport(Buffer.concat([header, first, last]), exportKeys), fault('damaged', /Chunk 1/))
})

t.test('another key is told from damage', async (t) => {
  const other = { ...exportKeys, exportKey: new Uint8Array(32) }
  await t.rejects(openExport(file, other), fault('other-key', /another export key/))
})

t.test('what is no export file, or one of a later version', async (t) => {
  await t.rejects(openExport(Buffer.from('<!DOCTYPE NETSCAPE-Bookmark-file-1>'), exportKeys), fault('not-an-export'))
  await t.rejects(openExport(flip(file, 4, 1), exportKeys), fault('unknown-version', /version 3/))
})

t.test('the nonce: prefix, big-endian counter, flag; more than 2^32 chunks are an error', async (t) => {
  const header = new Uint8Array(exportHeader(keys.exportKey, prefix))
  const tail = (counter: number, last: boolean) => [...chunkNonce(header, counter, last).subarray(19)]
  t.same(chunkNonce(header, 0, false).subarray(0, 19), prefix)
  t.same(tail(0, false), [0, 0, 0, 0, 0])
  t.same(tail(0x01020304, true), [1, 2, 3, 4, 1])
  t.same(tail(0xffff_ffff, true), [255, 255, 255, 255, 1])
  t.throws(() => chunkNonce(header, 0x1_0000_0000, false), fault('counter-overflow'))
})
