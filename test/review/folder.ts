import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Outside of this repository, so that git finds none above it. */
export function emptyFolder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'ebs-review-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}
