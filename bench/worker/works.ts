import * as exports from './export.ts'
import * as growth from './growth.ts'
import * as http from './http-works.ts'
import * as raw from './raw.ts'
import * as sockets from './sockets.ts'

/** All that a worker can be told to do, by name. */
export const works = { ...http, ...sockets, ...growth, ...exports, ...raw }

export type Works = typeof works
