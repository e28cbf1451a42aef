/** The worker's part of tab groups: they are off until the person has allowed the extension to see tabs. */
import { createTabGroups, groupsKey, type TabGroups } from '../groups/tab-groups.ts'
import { watchTabs } from '../groups/tabs-api.ts'
import type { ExtensionSync } from '../index.ts'
import { type GroupAct, platform, type ShownGroups } from './platform.ts'

let watched: ReturnType<typeof watchTabs> | undefined
// Must run as the worker starts, or else the browser does not start it for these events.
if (platform.tabGroups) watch()

function watch(): ReturnType<typeof watchTabs> {
  watched ??= watchTabs(platform.tabs, platform.tabGroups)
  return watched
}

/** True if the user has turned on tab groups. */
export async function followsGroups(): Promise<boolean> {
  // After the permission is granted, a running worker may get only part of the API. That would look like a browser
  // without tab groups.
  const isWhole = platform.tabGroups !== undefined || !('group' in platform.tabs)
  return isWhole && platform.permissions.contains({ permissions: ['tabs'] })
}

/** True if the user has turned tab groups off, but this browser's data about them is still stored. */
export async function hasTurnedOffGroups(): Promise<boolean> {
  return !(await followsGroups()) && groupsKey in (await platform.storage.local.get([groupsKey]))
}

export function openGroups(sync: ExtensionSync): TabGroups {
  const { tabs, tabGroups, windows, storage, runtime } = platform
  return createTabGroups({
    ...{ sync, tabs, tabGroups, windows, storage: storage.local, session: storage.session, watch: watch() },
    makesUnloaded: runtime.getBrowserInfo !== undefined,
  })
}

/** Runs the popup's action, and returns the new state to show. */
export async function answerGroups(groups: TabGroups | undefined, act?: GroupAct): Promise<ShownGroups | undefined> {
  if (!groups) return undefined
  const failed = act?.do === 'open' ? await groups.open(act.id, act.inNewWindow, act.most) : []
  if (act) await doOther(groups, act)
  return { list: groups.list(), refused: groups.refused(), failed: failed ?? [], isTooLarge: !failed }
}

async function doOther(groups: TabGroups, act: GroupAct): Promise<void> {
  switch (act.do) {
    case 'save':
      return groups.save(act.what, act.title)
    case 'rename':
      return groups.rename(act.id, act.title)
    case 'open':
      return
    case 'open-tab':
      return groups.openTab(act.id)
    default:
      return groups[act.do](act.id)
  }
}
