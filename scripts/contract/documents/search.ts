import { plainText } from './html.ts'

/** What the search finds: a page, or a section of one. */
export interface Place {
  page: string
  /** Of the page. */
  title: string
  /** Of the section; empty for the page itself. */
  heading: string
  text: string
}

/** A page's HTML, cut at its headings. */
export function placesOf(page: string, title: string, html: string): Place[] {
  const [start = '', ...sections] = html.split(/(?=<h[23] id=")/)
  return [
    { page, title, heading: '', text: plainText(start.replace(/<h1>.*?<\/h1>/, '')) },
    ...sections.map((section) => {
      const [, id, content = ''] = /<h[23] id="([^"]+)">(.*?)<\/h[23]>/s.exec(section) ?? []
      const text = plainText(section.replace(/<h[23].*?<\/h[23]>/s, ''))
      return { page: `${page}#${id}`, title, heading: page.startsWith('api') ? (id ?? '') : plainText(content), text }
    }),
  ]
}
