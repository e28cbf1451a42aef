import type { Answer, Held, ShownGroups, ShownVisits, WorkerState } from '../../../src/extension/app/platform.ts'

/** A state of the extension's pages: the response of their worker, with a name. */
export interface Look extends Answer {
  title: string
}

const sync = { state: 'online', lastSync: Date.now(), waiting: 0 } as const
const browser = { state: 'in-step' } as const
const inStep: WorkerState = {
  ...{ setup: 'ready', isPaused: false, sync, browser },
  ...{ refused: [], conflicts: [], leftOut: ['folder'], roots: [] },
}
const held: Held = {
  browser: ['RFC 9106', 'Trains', 'Maps', 'Weather', 'Bread', 'Shop'].map((title, id) => ({ id: `${id}`, title })),
  devices: [{ id: 'one', title: 'An article' }],
}
const conflicts = [
  { id: 'a', mine: 'RFC 9106 · https://www.rfc-editor.org/rfc/rfc9106', theirs: '' },
  { id: 'b', mine: 'Trains', theirs: `Trains · https://trains.example.org/${'very-long-'.repeat(8)}` },
]

const firstSync = { state: 'syncing', progress: { done: 3200, total: 20_000 } } as const

const group = { color: 'red', isOpen: true, isScattered: false, isAlike: false }
const groups: ShownGroups = {
  list: [
    {
      ...{ id: 'work', title: 'Work', ...group, differs: { opens: 1, closes: 2, changes: 3 } },
      tabs: ['https://trains.example.org/', `file:///${'notes-'.repeat(80)}`].map((url) => {
        return { id: url, title: url, url, canOpen: url.startsWith('https') }
      }),
    },
    { id: 'none', title: '', tabs: [], ...group, isOpen: false, isScattered: true },
    { id: 'alike', title: 'Alike', tabs: [], ...group, isOpen: false, isAlike: true },
  ],
  ...{ refused: ['a'.repeat(70_000)], failed: ['file:///notes'], isTooLarge: false },
}
const visits: ShownVisits = {
  ...{ keptDays: 90, sites: ['bank.example'], count: 1234, isCatchingUp: true, pausedUntil: null, isCleared: true },
  pages: ['An article', '', 'very-long-'.repeat(30)].map((title) => {
    return { url: `https://example.org/${title}`, title, dateVisited: '2026-11-30T04:55:00.000Z' }
  }),
}

export const looks: Look[] = [
  { title: 'new', state: { ...inStep, setup: 'new', sync: null, browser: null } },
  { title: 'first sync', state: { ...inStep, sync: { ...sync, ...firstSync } } },
  { title: 'connecting', state: { ...inStep, sync: { ...sync, state: 'connecting', lastSync: 0 } } },
  { title: 'in step', state: inStep },
  { title: 'groups and history', state: inStep, groups, visits },
  { title: 'not sent yet', state: { ...inStep, sync: { ...sync, waiting: 61 } } },
  { title: 'offline', state: { ...inStep, sync: { ...sync, state: 'offline', reason: 'network', waiting: 3 } } },
  {
    title: 'asked to wait',
    state: { ...inStep, sync: { ...sync, state: 'offline', reason: 'limited', retryAt: Date.now(), waiting: 3 } },
  },
  { title: 'paused', state: { ...inStep, isPaused: true, sync: null, browser: null } },
  { title: 'signed out', state: { ...inStep, setup: 'locked', sync: null, browser: null } },
  { title: 'keys replaced', state: { ...inStep, sync: { ...sync, state: 'offline', reason: 'keys' } } },
  { title: 'device full', state: { ...inStep, sync: { ...sync, state: 'offline', reason: 'storage' } } },
  {
    title: 'stopped',
    state: { ...inStep, browser: { state: 'failed' }, fault: { kind: 'other', message: 'No answer' } },
  },
  {
    title: 'out of date',
    state: { ...inStep, setup: 'failed', sync: null, browser: null, fault: { kind: 'newer', message: '' } },
  },
  {
    title: 'not allowed',
    state: { ...inStep, sync: { ...sync, state: 'signed-out' }, forbidden: 'http://127.0.0.1:9' },
  },
  { title: 'conflicts', state: { ...inStep, conflicts } },
  {
    title: 'copies',
    state: { ...inStep, browser: { state: 'waiting', copies: 120 } },
    copies: Array.from({ length: 120 }, (_, index) => ({
      id: `${index}`,
      here: `Recipes › Bread ${index}`,
      elsewhere: `Rezepte › Brot ${index}`,
    })),
  },
  { title: 'many deletes', state: { ...inStep, sync: { ...sync, heldDeletions: { count: 1, of: 9 } } }, held },
  {
    title: 'refused',
    state: {
      ...inStep,
      sync: { ...sync, quarantined: 4, reason: 'quota' },
      refused: [{ id: 'x', title: 'Local file', by: 'browser', message: `Invalid URL: ${'a'.repeat(70_000)}` }],
    },
  },
]
