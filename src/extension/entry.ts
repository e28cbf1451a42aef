import type { kindOf } from '../client/bookmark-file/tree.ts'

/** Whether an entry is a folder, a link or a separator. */
export type Kind = ReturnType<typeof kindOf>

/** What a browser and the service can agree on about a bookmark. */
export interface Content {
  title: string
  /** Of a link only. */
  url?: string | undefined
}

/** Firefox cuts longer titles. */
const mostTitleLength = 4096

/** Queries of Firefox name things of one profile: they stay where they are, in browsers and at the service. */
export function isLeftAlone(url: unknown): boolean {
  return typeof url === 'string' && url.startsWith('place:')
}

export function contentOf({ title, url }: Content): Content {
  return url === undefined ? { title } : { title, url }
}

export function isSameContent(one: Content, other: Content): boolean {
  return one.title === other.title && one.url === other.url
}

/** By what an entry is found again within a folder: browsers write addresses and titles in forms of their own. */
export function likenessOf({ kind, title, url }: Content & { kind: Kind }): string {
  if (kind === 'link') return `link ${URL.canParse(url as string) ? new URL(url as string).href : url}`
  return kind === 'folder' ? `folder ${titleLikenessOf(title)}` : kind
}

/** By what a title is found again. */
export function titleLikenessOf(title: string): string {
  return title.slice(0, mostTitleLength).replace(/\s+/g, ' ').trim()
}
