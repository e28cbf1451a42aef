import { realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Env, optional, secretNames } from '../config/values.ts'
import { type Finding, warning } from './doctor-place.ts'

/** Finds files of secrets that every user of this machine can read. Missing files are reported where they are read. */
export function examineSecretFiles(env: Env): Finding[] {
  return secretNames.flatMap((name): Finding[] => {
    const path = optional(env, `${name}_FILE`)
    if (path === undefined || !isOpenToAll(path)) return []
    const says = `${name}_FILE: every user of this machine can read ${path}`
    return [warning('settings', says, `make the user who starts this its owner, and chmod 0600 '${path}'`)]
  })
}

/** True if every user can read the file, and reach it through all folders above it. */
function isOpenToAll(path: string): boolean {
  try {
    const real = realpathSync(path)
    return (statSync(real).mode & 0o004) !== 0 && isPassage(dirname(real))
  } catch {
    return false
  }
}

function isPassage(folder: string): boolean {
  if ((statSync(folder).mode & 0o001) === 0) return false
  return dirname(folder) === folder || isPassage(dirname(folder))
}
