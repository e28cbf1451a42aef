import { get, type IncomingMessage } from 'node:http'

/** A response that never ends, message by message. */
export async function openStream(
  url: string,
  headers: Record<string, string>,
  separator: string,
  onMessage: (text: string) => void,
): Promise<{ close(): void }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).on('error', reject)
  })
  let rest = ''
  response.setEncoding('utf8').on('data', (text: string) => {
    const messages = (rest + text).split(separator)
    rest = messages.pop() ?? ''
    for (const message of messages) onMessage(message)
  })
  response.on('error', () => {})
  return { close: () => response.destroy() }
}
