import { readdir, readFile } from 'node:fs/promises'

/** What a process has used: CPU time (ms), and the memory that is its own (MiB). */
export interface Usage {
  cpuMs: number
  memory: number
}

/** The process of the extension, its worker and its pages, in a Chromium whose processes have this group. */
export async function extensionProcess(group: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('--extension-process') && Number((await fieldsOf(pid))[2]) === group) return Number(pid)
  }
  throw new Error('The extension has no process')
}

export async function usageOf(pid: number): Promise<Usage> {
  const fields = await fieldsOf(`${pid}`)
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kibibytes = Number(/RssAnon:\s+(\d+)/.exec(status)?.[1])
  // utime and stime, in hundredths of a second.
  return { cpuMs: 10 * (Number(fields[11]) + Number(fields[12])), memory: Math.round(kibibytes / 1024) }
}

/** The fields behind the name, of which the first is the state. */
async function fieldsOf(pid: string): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
