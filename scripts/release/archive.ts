import { execFileSync } from 'node:child_process'
import { chmod, glob, lstat, lutimes } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Packs a folder, which is the top folder in the archive. With the same tar and gzip, the same files make the same archive.
 *
 * @param seconds the time of all files, in seconds since 1970
 */
export async function writeTar(parent: string, name: string, file: string, seconds: number): Promise<void> {
  await settle(join(parent, name), seconds)
  const same = ['--sort=name', '--format=gnu', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${seconds}`]
  // `-n` leaves out when it was compressed.
  const packed = ['--use-compress-program=gzip -6n', '-cf', file, '-C', parent, name]
  execFileSync('tar', [...same, ...packed], { env: { ...process.env, LC_ALL: 'C' } })
}

/** Makes a Debian package of a folder that contains `DEBIAN/control`. */
export async function writeDeb(folder: string, file: string, seconds: number): Promise<void> {
  await settle(folder, seconds)
  const env = { ...process.env, LC_ALL: 'C', SOURCE_DATE_EPOCH: String(seconds) }
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z6', '--build', folder, file], { env, stdio: 'pipe' })
}

/** Sets permissions that do not depend on the umask, and the same time for all files. */
async function settle(folder: string, seconds: number): Promise<void> {
  const paths = [folder, ...(await Array.fromAsync(glob('**', { cwd: folder }))).map((path) => join(folder, path))]
  for (const path of paths) {
    const { mode } = await lstat(path)
    const isLink = (mode & 0o170000) === 0o120000
    if (!isLink) await chmod(path, (mode & 0o100) === 0 ? 0o644 : 0o755)
    await lutimes(path, seconds, seconds)
  }
}
