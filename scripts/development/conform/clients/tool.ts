export type Command = readonly [program: string, ...args: string[]]

/** A generator of clients. Its commands run in a folder that holds the contract and the story of the same name. */
export interface Tool {
  name: string
  version: string
  language: string
  /** Programs that the machine must have. */
  needs: string[]
  generate: Command[]
  build: Command[]
  /** Left out where the generated code makes no calls. */
  story?: Command
}
