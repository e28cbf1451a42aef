import { readFileSync } from 'node:fs'

/** A small contract for the tests of the review to change: a folder with openapi.yaml and asyncapi.yaml. */
export const contract = new URL('../fixtures/contract/', import.meta.url)

/** A text in the file and its replacement. */
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
