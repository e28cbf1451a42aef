import { readdir, readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { bundled, type Contract } from '../generate/contract.ts'
import { ReviewError } from './error.ts'

/** A contract on both sides, each bundled into one document. */
export interface Documents {
  file: string
  before: Contract
  after: Contract
}

/** The contracts in a folder: YAML files that are an OpenAPI or AsyncAPI document. */
export async function contractsIn(folder: URL): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name))
  const contents = await Promise.all(names.map((name) => readFile(new URL(encodeURIComponent(name), folder), 'utf8')))
  return names.filter((_, index) => /^(openapi|asyncapi):/m.test(contents[index] ?? '')).sort()
}

export async function readBoth(base: URL, revision: URL, file: string): Promise<Documents> {
  const read = (folder: URL, whose: string) =>
    bundled(new URL(file, folder)).catch((error: Error) => {
      throw new ReviewError(`${whose} ${file} is no contract that can be read. ${error.message}`)
    })
  return { file, before: await read(base, 'The older'), after: await read(revision, 'This') }
}

/** The version follows from changes and is none. */
export function isSame({ before, after }: Documents): boolean {
  return isDeepStrictEqual({ ...before, info: { ...before.info, version: after.info.version } }, after)
}
