import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import t from 'tap'
import { encryptFile } from '../../src/service/exports/file.ts'
import { exportKey, openFile } from './fixture.ts'

const chunkLength = 65_536

async function* pieces(text: string, length: number): AsyncGenerator<string> {
  for (let start = 0; start < text.length; start += length) yield text.slice(start, start + length)
}

async function encrypt(text: string, pieceLength: number): Promise<Buffer> {
  return whole(pieces(text, pieceLength))
}

async function whole(plaintext: AsyncIterable<string>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(encryptFile(exportKey, plaintext), (piece) => Buffer.from(piece)))
}

t.test('the header is EBSX, version 1, the key id and a random prefix', async (t) => {
  const [first, second] = [await encrypt('x', 1), await encrypt('x', 1)]
  t.equal(first.subarray(0, 4).toString(), 'EBSX')
  t.equal(first[4], 1)
  const keyId = createHash('sha256').update('ebs/key-id').update(exportKey).digest().subarray(0, 8)
  t.strictSame(first.subarray(5, 13), keyId)
  t.notSame(first.subarray(13, 32), second.subarray(13, 32))
})

const lengths = [1, chunkLength - 1, chunkLength, chunkLength + 1, 2 * chunkLength, 2 * chunkLength + 1, 200_000]
for (const length of lengths) {
  t.test(`${length} bytes become the chunks that XChaCha20-Poly1305 makes`, async (t) => {
    const text = 'abcdefg'.repeat(Math.ceil(length / 7)).slice(0, length)
    const file = await encrypt(text, 9_973)
    const header = file.subarray(0, 32)
    const expected: Uint8Array[] = [header]
    for (let start = 0, counter = 0; start < length; start += chunkLength, counter++) {
      const tail = Buffer.alloc(5)
      tail.writeUInt32BE(counter)
      tail[4] = start + chunkLength >= length ? 1 : 0
      const nonce = Buffer.concat([header.subarray(13), tail])
      const plaintext = Buffer.from(text.slice(start, start + chunkLength))
      expected.push(xchacha20poly1305(exportKey, nonce, header).encrypt(plaintext))
    }
    t.ok(file.equals(Buffer.concat(expected)))
  })

  t.test(`the client opens ${length} bytes, however they are split`, async (t) => {
    const text = 'ü€x'.repeat(length).slice(0, length)
    for (const pieceLength of [length, 65_537, 4_999]) {
      const file = await encrypt(text, pieceLength)
      t.ok((await openFile(file)) === text, `in pieces of ${pieceLength}`)
    }
  })
}

t.test('a character on the border of two chunks is not lost', async (t) => {
  for (const before of [4, 3, 2, 1, 0]) {
    const texts = ['x'.repeat(chunkLength - before), '🦊', 'y']
    const file = await whole(Readable.from(texts))
    t.ok((await openFile(file)) === texts.join(''), `${before} bytes before it`)
  }
})
