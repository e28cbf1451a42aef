import { crc32, deflateSync } from 'node:zlib'

const [blue, white, clear] = [
  [11, 87, 164, 255],
  [255, 255, 255, 255],
  [0, 0, 0, 0],
]

/** The extension's icon as a PNG: a white bookmark on blue. Chrome takes no SVG. */
export function drawIcon(size: number): Buffer {
  const rows = Array.from({ length: size }, (_, y) => {
    const pixels = Array.from({ length: size }, (_, x) => colourAt((x + 0.5) / size, (y + 0.5) / size) as number[])
    return Buffer.from([0, ...pixels.flat()])
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size, 0)
  header.writeUInt32BE(size, 4)
  // Eight bits a channel, with alpha.
  header.set([8, 6], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function colourAt(x: number, y: number): number[] | undefined {
  const isRibbon = x > 0.3 && x < 0.7 && y > 0.2 && y < 0.82 - Math.max(0, 0.2 - Math.abs(x - 0.5))
  const corner = Math.hypot(Math.max(0, Math.abs(x - 0.5) - 0.3), Math.max(0, Math.abs(y - 0.5) - 0.3))
  if (corner > 0.2) return clear
  return isRibbon ? white : blue
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
