import { crc32, deflateRawSync } from 'node:zlib'

interface Entry {
  name: string
  data: Uint8Array
}

/** 1 January 1980 in the format of zip. A fixed date, so that the same files make the same archive. */
const date = 0x21

/** Makes a zip archive (APPNOTE.TXT 6.3, without extensions). */
export function zip(entries: readonly Entry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, data } of entries) {
    const [path, packed] = [Buffer.from(name), deflateRawSync(data)]
    // Version 2.0, names in UTF-8, deflated.
    const fields = numbers(
      [20, 2],
      [0x800, 2],
      [8, 2],
      [0, 2],
      [date, 2],
      [crc32(data), 4],
      [packed.length, 4],
      [data.length, 4],
      [path.length, 2],
      [0, 2],
    )
    const local = Buffer.concat([numbers([0x04034b50, 4]), fields, path, packed])
    const rest = numbers([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4])
    directory.push(Buffer.concat([numbers([0x02014b50, 4], [20, 2]), fields, rest, path]))
    parts.push(local)
    offset += local.length
  }
  const list = Buffer.concat(directory)
  const count = entries.length
  const end = numbers([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [list.length, 4], [offset, 4], [0, 2])
  return Buffer.concat([...parts, list, end])
}

/** Encodes each number in this many bytes, little-endian. */
function numbers(...values: [value: number, bytes: number][]): Buffer {
  return Buffer.concat(
    values.map(([value, bytes]) => {
      const buffer = Buffer.alloc(bytes)
      buffer.writeUIntLE(value, 0, bytes)
      return buffer
    }),
  )
}
