const finalText = 0x81
/** Lengths that follow in two or eight bytes. */
const [twoBytes, eightBytes] = [126, 127]

/** A text message as the server sends it (RFC 6455, section 5.2): made once, however many sockets it goes to. */
export function toFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const header = headerOf(length)
  const frame = Buffer.allocUnsafe(header.length + length)
  frame.set(header)
  frame.write(text, header.length)
  return frame
}

function headerOf(length: number): Buffer {
  if (length < twoBytes) return Buffer.of(finalText, length)
  const isShort = length < 2 ** 16
  const header = Buffer.alloc(isShort ? 4 : 10)
  header.set([finalText, isShort ? twoBytes : eightBytes])
  if (isShort) header.writeUInt16BE(length, 2)
  else header.writeBigUInt64BE(BigInt(length), 2)
  return header
}
