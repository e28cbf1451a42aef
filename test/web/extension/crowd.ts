import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { folder, type Service, startService } from '../../support/service.ts'
import { developmentProvider } from '../fixture.ts'
import { bar, Installed } from './installed.ts'
import { setUp } from './set-up.ts'

/** So many in a folder. */
const folderSize = 50
/** By then, what was done last is written down, and what is needed no more is freed. */
const settledMs = 40_000
const idleMs = 60_000

/** The cost of a first sync of many bookmarks, and of a minute in which nothing happens. */
interface Figures {
  /** From the first-run page on. */
  firstSyncMs: number
  firstSyncCpuMs: number
  idleCpuMs: number
  /** Of the extension's process (MiB). */
  memory: Record<'before' | 'peak' | 'idle', number>
}

declare const chrome: { bookmarks: { create(node: object): Promise<{ id: string }> } }

/** Two Chromiums: one has many bookmarks, the other takes them in. */
export async function measureCrowd(t: Test, count: number): Promise<Record<'sends' | 'takes', Figures>> {
  const service = await startService(t, await folder(t), { ...(await developmentProvider()), LOG_LEVEL: 'error' })
  const [one, two] = [await Installed.start(t), await Installed.start(t)]
  await one.page.evaluate(fill, { count, folderSize, bar })
  const expected = count + count / folderSize
  return { sends: await measure(one, service, expected), takes: await measure(two, service, expected) }
}

async function fill({ count, folderSize, bar }: { count: number; folderSize: number; bar: string }): Promise<void> {
  let parentId = bar
  for (let index = 0; index < count; index++) {
    if (index % folderSize === 0) parentId = (await chrome.bookmarks.create({ parentId: bar, title: `${index}` })).id
    const url = `https://example.org/articles/${index}/how-to-keep-bookmarks-in-step`
    await chrome.bookmarks.create({ parentId, title: `How to keep bookmarks in step, part ${index}`, url })
  }
}

async function measure(browser: Installed, service: Service, expected: number): Promise<Figures> {
  const pid = await extensionProcess(browser.chromium.group())
  const [start, before] = [performance.now(), await usageOf(pid)]
  let peak = before.memory
  const noting = setInterval(async () => {
    peak = Math.max(peak, (await usageOf(pid)).memory)
  }, 250)
  await setUp(browser, service, 'Ada')
  while (!(await isInStep(browser)) || (await countOf(browser)) < expected) await sleep(500)
  clearInterval(noting)
  const firstSyncMs = performance.now() - start
  const synced = await usageOf(pid)
  const { from, to } = await idle(browser, pid)
  return {
    firstSyncMs: Math.round(firstSyncMs),
    firstSyncCpuMs: synced.cpuMs - before.cpuMs,
    idleCpuMs: to.cpuMs - from.cpuMs,
    memory: { before: before.memory, peak, idle: to.memory },
  }
}

/** No page of the extension is open meanwhile. */
async function idle({ page }: Installed, pid: number): Promise<Record<'from' | 'to', Usage>> {
  await page.goto('about:blank')
  await sleep(settledMs)
  const from = await usageOf(pid)
  await sleep(idleMs)
  return { from, to: await usageOf(pid) }
}

async function isInStep(browser: Installed): Promise<boolean> {
  const { state } = await browser.ask({ ask: 'state' })
  return state?.sync?.state === 'online' && state.sync.waiting === 0 && state.browser?.state === 'in-step'
}

/** Without the browser's own folders. */
async function countOf(browser: Installed): Promise<number> {
  const pending = (await browser.roots()).flatMap(({ children = [] }) => children)
  for (const { children = [] } of pending) pending.push(...children)
  return pending.length
}

/** A process's use of the machine: CPU time (ms), and the memory that is its own (MiB). */
interface Usage {
  cpuMs: number
  memory: number
}

/** The process of the extension, its worker and its pages, in a Chromium whose processes have this group. */
async function extensionProcess(group: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('--extension-process') && Number((await fieldsOf(pid))[2]) === group) return Number(pid)
  }
  throw new Error('The extension has no process')
}

async function usageOf(pid: number): Promise<Usage> {
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
