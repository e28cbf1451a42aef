import { Highlight } from './found.tsx'
import { type Bookmark, hostOf, isSafe, nameOf } from './kind.ts'

interface PageProps {
  page: Bookmark
  /** The words of a search, which are highlighted. */
  words: readonly string[]
}

/** The name of a tab or a visited page, as a link if its address is safe to click. */
export function PageLink({ page, words }: PageProps) {
  const { url = '' } = page
  const text = <Highlight text={nameOf(page)} words={words} />
  const title = { class: 'row-title', dir: 'auto' as const, title: url }
  if (!isSafe(url)) return <span {...title}>{text}</span>
  return (
    <a {...title} href={url} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}

/** The site of a page; the whole address if it is not safe to click. */
export function PageSite({ page, words }: PageProps) {
  const { url = '' } = page
  return <Highlight text={isSafe(url) ? hostOf(page) : url} words={words} />
}
