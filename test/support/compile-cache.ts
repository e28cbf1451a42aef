import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Environment variables for a process with its own environment. They halve the time to start it. */
export const compileCache = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'ebs-test-compile-cache'),
}
