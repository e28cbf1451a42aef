import type { AgreedRow } from './agreed.ts'
import { type Content, contentOf, isSameContent, titleLikenessOf } from './entry.ts'

interface MergedContent {
  forBrowser: Content
  forService: Content
  isConflict: boolean
}

/** Merges by field. Each side keeps its own form of what nobody has changed. */
export function mergeContent(
  row: AgreedRow | undefined,
  browser: Content | undefined,
  service: Content | undefined,
): MergedContent {
  if (!browser || !service) {
    const content = contentOf((browser ?? service) as Content)
    return { forBrowser: content, forService: content, isConflict: false }
  }
  const forService = contentOf(service)
  const forBrowser = contentOf(browser)
  if (!row) return { forService, forBrowser: firstForm(forBrowser, forService), isConflict: false }
  const shown = row.shown ?? row.content
  let isConflict = false
  for (const name of ['title', 'url'] as const) {
    const isChangedHere = browser[name] !== shown[name]
    const isChangedThere = service[name] !== row.content[name]
    if (isChangedHere) Object.assign(forService, contentOfField(name, browser))
    else if (isChangedThere) Object.assign(forBrowser, contentOfField(name, service))
    isConflict ||= isChangedHere && isChangedThere && browser[name] !== service[name]
  }
  return { forBrowser, forService, isConflict }
}

function contentOfField(name: 'title' | 'url', content: Content): Partial<Content> {
  return { [name]: content[name] }
}

/** When they meet for the first time, the browser takes over the service's title unless it is only another form of it. */
function firstForm(browser: Content, service: Content): Content {
  const isOtherForm = titleLikenessOf(browser.title) === titleLikenessOf(service.title)
  return isOtherForm || isSameContent(browser, service) ? browser : { ...browser, title: service.title }
}
