import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/**
 * A server that outlives this process by no way in which it may end: it gets its last signal when its input ends. It is
 * in a group of its own, since Ctrl-C in a terminal is for us, who stop it when nobody needs it any more.
 */
export function spawnTethered(
  [command, ...args]: [string, ...string[]],
  lastSignal: 'KILL' | 'QUIT',
  options: Pick<SpawnOptions, 'env' | 'uid' | 'gid'>,
): ChildProcess {
  const untilInputEnds = `"$0" "$@" & read line; kill -${lastSignal} $!; wait`
  return spawn('sh', ['-c', untilInputEnds, command, ...args], {
    ...options,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
}
