import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { say } from '../words/words.ts'

interface VirtualListProps {
  count: number
  /** The row height in rem, so that it grows with the text size. */
  rowHeight: number
  /** The minimum width of a column in rem; undefined for one column. */
  columnWidth?: number
  /** Draws the contents of the item with this index. */
  item: (index: number) => ComponentChildren
  /** The key of the item: for a bookmark, its id. */
  keyOf: (index: number) => string
  label: string
}

interface Window {
  first: number
  end: number
  columns: number
}

/** Rows drawn above and below the visible part, so that scrolling shows no gap. */
const spare = 6

/** The most rows printed, about seventy pages. Drawing 5,000 rows took 16 s, and Chromium gave up printing them. */
const mostPrinted = 1000

/** A list of any length. The document contains only rows in or near view; for printing, the first `mostPrinted`. */
export function VirtualList({ count, rowHeight, columnWidth, item, keyOf, label }: VirtualListProps) {
  const list = useRef<HTMLUListElement>(null)
  const [{ first, end, columns }, setWindow] = useState<Window>({ first: 0, end: 0, columns: 1 })

  useLayoutEffect(() => {
    const element = list.current as HTMLElement
    const scroller = scrollerOf(element)
    let isPrinting = false
    const measure = () => {
      if (isPrinting) return
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
      const height = rowHeight * rem
      const columns = columnWidth ? Math.max(1, Math.floor(element.clientWidth / (columnWidth * rem))) : 1
      const above = scroller.getBoundingClientRect().top - element.getBoundingClientRect().top
      const first = Math.max(0, Math.floor(above / height) - spare) * columns
      const end = (Math.ceil((above + scroller.clientHeight) / height) + spare) * columns
      setWindow((shown) =>
        shown.first === first && shown.end === end && shown.columns === columns ? shown : { first, end, columns },
      )
    }
    const print = () => {
      isPrinting = true
      setWindow(({ columns }) => ({ first: 0, end: mostPrinted, columns }))
    }
    const printed = () => {
      isPrinting = false
      measure()
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    observer.observe(scroller)
    scroller.addEventListener('scroll', measure, { passive: true })
    addEventListener('beforeprint', print)
    addEventListener('afterprint', printed)
    return () => {
      observer.disconnect()
      scroller.removeEventListener('scroll', measure)
      removeEventListener('beforeprint', print)
      removeEventListener('afterprint', printed)
    }
  }, [rowHeight, columnWidth])

  const indexes = Array.from({ length: Math.max(0, Math.min(end, count) - first) }, (_, at) => first + at)
  return (
    <ul
      ref={list}
      class="virtual"
      aria-label={label}
      style={{
        '--row-height': `${rowHeight}rem`,
        '--rows': String(Math.ceil(count / columns)),
        '--columns': String(columns),
      }}
      data-columns={columns}
      data-cut={count > mostPrinted ? say.ui.printedOf(mostPrinted, count) : undefined}
    >
      {indexes.map((index) => (
        <li
          key={keyOf(index)}
          data-id={keyOf(index)}
          // Screen readers cannot count the items, because the others are not in the document.
          aria-posinset={index + 1}
          aria-setsize={count}
          style={{ '--column': String(index % columns), '--row': String(Math.floor(index / columns)) }}
        >
          {item(index)}
        </li>
      ))}
    </ul>
  )
}

function scrollerOf(element: HTMLElement): HTMLElement {
  return element.closest<HTMLElement>('[data-scrolls]') ?? document.documentElement
}
