/** Empty Debian machines, each booted with systemd in separate namespaces of this machine. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { tethered } from '../../scripts/servers/tethered.ts'
import { installDebian } from './debian.ts'
import { folder } from './service.ts'
import { until } from './until.ts'

export interface Machine {
  /** The path of the machine's root folder. */
  at: string
  /** The machine's address. `host` is the address of this machine as seen from there. */
  address: string
  host: string
  /** Runs a command there as root, and returns its output. Only `apt-get` can reach other machines. */
  type(command: string, input?: string): Promise<string>
  /** Runs a program of this machine in the other machine's network, and returns its output. */
  onItsNetwork(...command: string[]): Promise<string>
}

/** Returns a function that boots a new machine, or undefined with the reason printed if that is impossible. */
export async function debian(t: Test, suite = 'bookworm'): Promise<(() => Promise<Machine>) | undefined> {
  const needed = [
    ['debootstrap', '--version'],
    ['unshare', ...namespaces, '--fork', 'ip', 'link', 'set', 'lo', 'up'],
  ]
  const missing = needed.filter(([command = '', ...args]) => spawnSync(command, args).status !== 0)
  if (process.getuid?.() !== 0 || missing.length > 0) {
    t.comment('SKIPPED: needs root, debootstrap and namespaces')
    return undefined
  }
  const base = await folder(t)
  // In memory, because dpkg waits for the disk after each file.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=755', 'tmpfs', base])
  t.teardown(() => execFileSync('umount', ['--lazy', base]))
  await installDebian(suite, base, 'systemd-sysv')
  return () => boot(t, base)
}

const namespaces = ['--pid', '--mount', '--net', '--ipc', '--uts', '--cgroup']

/** Makes cgroups in which systemd makes its own. `$0` is their name, `$1` the base, `$2` an empty folder. */
const begin = `set -e
for each in /sys/fs/cgroup /sys/fs/cgroup/*; do
  if [ -e "$each/cgroup.procs" ]; then mkdir "$each/$0"; echo $$ > "$each/$0/cgroup.procs" 2> /dev/null || rmdir "$each/$0"; fi
done
echo $$ > "$2/pid"
exec unshare ${namespaces.join(' ')} --fork --kill-child sh -c "$3" "$0" "$1" "$2"`

const init = `set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$2"
cd "$2"
mkdir upper work root
mount -t overlay -o "lowerdir=$1,upperdir=upper,workdir=work" overlay root
cd root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/shm dev/pts run/outside
for each in null zero full random urandom tty; do touch "dev/$each"; mount --bind "/dev/$each" "dev/$each"; done
ln -s /proc/self/fd dev/fd
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ip link set lo up
pivot_root . run/outside
umount -l /run/outside
# Else what systemd mounts for a unit, such as its credentials, stays unseen.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin /lib/systemd/systemd`

async function boot(t: Test, base: string): Promise<Machine> {
  const at = await folder(t)
  const name = basename(at)
  const pidOf = () => {
    const unshared = readFileSync(join(at, 'pid'), 'utf8').trim()
    return readFileSync(`/proc/${unshared}/task/${unshared}/children`, 'utf8').trim()
  }
  // Asynchronous, because servers in this process must respond meanwhile.
  const enter = async (options: string[], command: string[], input = '') => {
    const entered = spawn('nsenter', [`--target=${pidOf()}`, ...options, ...command])
    entered.stdin.on('error', () => {}).end(input)
    const [stdout, stderr, [status]] = await Promise.all([
      text(entered.stdout),
      text(entered.stderr),
      once(entered, 'close'),
    ])
    return { status: status as number | null, stdout, stderr }
  }
  const env = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'LC_ALL=C']
  const inside = ['--mount', '--uts', '--ipc', '--pid', '--cgroup', '--root', '--wdns=/root']
  const server = tethered(['sh', '-c', begin, name, base, at, init], {
    lastSignal: 'KILL',
    isReady: async () => {
      try {
        return /^(running|degraded)/.test((await enter(inside, ['systemctl', 'is-system-running'])).stdout)
      } catch {
        return false
      }
    },
  })
  t.teardown(async () => {
    await server.stop()
    // Removing a cgroup fails while the machine's last processes in it are still ending.
    const own = ['/sys/fs/cgroup', '-depth', '-type', 'd', '-path', `*/${name}*`]
    await until(() => spawnSync('find', [...own, '-print', '-exec', 'rmdir', '{}', ';']).stdout.length === 0)
  })
  await server.start()

  const network = `10.213.${Number(pidOf()) % 256}`
  const [address, host] = [`${network}.2`, `${network}.1`]
  const link = `ebs${pidOf()}`
  for (const line of [
    `link add ${link} type veth peer name eth0 netns ${pidOf()}`,
    `address add ${host}/24 dev ${link}`,
    `link set ${link} up`,
  ])
    execFileSync('ip', line.split(' '))
  const run = async (options: string[], command: string[], input?: string) => {
    const { status, stdout, stderr } = await enter(options, command, input)
    if (status === 0) return stdout
    const { stdout: log } = await enter(inside, ['journalctl', '--no-pager', '--lines=30', '--output=cat'])
    throw new Error(`${command.at(-1)}: ${stdout}${stderr}${log}`)
  }
  const machine: Machine = {
    at: `/proc/${pidOf()}/root`,
    address,
    host,
    type: (command, input) =>
      run([...inside, ...(command.startsWith('apt-get ') ? [] : ['--net'])], [...env, 'sh', '-euc', command], input),
    onItsNetwork: (...command) => run(['--net'], command),
  }
  for (const line of [`address add ${address}/24 dev eth0`, 'link set eth0 up'])
    machine.onItsNetwork('ip', ...line.split(' '))
  await writeFile(join(machine.at, 'etc/hosts'), '127.0.0.1 localhost\n')
  await mkdir(join(machine.at, 'root'), { recursive: true })
  return machine
}
