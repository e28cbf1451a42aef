/** A step of `npm run check` that bounds the lines of code. A feature may raise a bound; its commit says why. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The most lines of TypeScript and JavaScript in these folders. */
const bounds = [
  { what: 'src, scripts and bench', folders: ['src', 'scripts', 'bench'], most: 79_210 },
  { what: 'test', folders: ['test'], most: 78_770 },
]

for (const { what, folders, most } of bounds) {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...folders], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  })
  const files = listed.split('\n').filter((path) => /\.(ts|tsx|mjs|js)$/.test(path))
  const lines = files.reduce((sum, path) => sum + linesOf(path), 0)
  console.log(`${what}: ${lines} of ${most} lines`)
  if (lines <= most) continue
  process.exitCode = 1
  console.error('Remove code, or raise `most` in scripts/check/lines.ts, and say in the commit which feature needs it.')
}

/** 0 if the file is deleted, but still in Git's index. */
function linesOf(path: string): number {
  try {
    return readFileSync(path, 'utf8').split('\n').length - 1
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
