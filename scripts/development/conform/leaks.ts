import { readFile } from 'node:fs/promises'

interface Har {
  log: { entries: { response: { content: { text?: string; encoding?: string } } }[] }
}

/** In how many answers of the recorded traffic one of the texts stands. */
export async function countLeaks(report: string, secrets: string[]): Promise<number> {
  const { log } = JSON.parse(await readFile(report, 'utf8')) as Har
  if (log.entries.length === 0) throw new Error(`${report} holds no traffic`)
  const bodies = log.entries.map(({ response: { content } }) =>
    Buffer.from(content.text ?? '', content.encoding === 'base64' ? 'base64' : 'utf8').toString(),
  )
  return bodies.filter((body) => secrets.some((secret) => body.includes(secret))).length
}
