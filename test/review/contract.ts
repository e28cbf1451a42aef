import { readFileSync } from 'node:fs'

/** The folder of the contract that the tests of the review change: openapi.yaml and asyncapi.yaml. */
export const contract = new URL('../fixtures/contract/', import.meta.url)

/** Text that is there, and what it becomes. */
export type Edit = [from: string, to: string]

export function edited(file: string, edits: Edit[]): string {
  return edits.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${file} does not hold: ${from}`)
    return text.replace(from, () => to)
  }, original(file))
}

export function original(file: string): string {
  return readFileSync(new URL(file, contract), 'utf8')
}
