/** What every page runs: copy buttons, the search, and scrolling by keyboard. Without it, the pages can be read all the same. */
forwardOldLinks()
addCopyButtons()
followSections()
showWhereWeAre()
letKeysScroll()
addEventListener('resize', letKeysScroll)
offerSearch()

/** The reference of the contract was once the first page. */
function forwardOldLinks(): void {
  if (/^#(operation|tag)\//.test(location.hash) && document.querySelector('article')?.dataset.page === 'index.html')
    location.replace(`http.html${location.hash}`)
}

function addCopyButtons(): void {
  for (const block of document.querySelectorAll<HTMLElement>('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code')?.textContent ?? '')
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2000)
    })
    block.append(button)
  }
}

/** Marks the section that is read in the list of sections. */
function followSections(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('.sections a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  )
  const headings = [...document.querySelectorAll<HTMLElement>('article h2[id]')]
  if (links.size === 0) return
  const mark = () => {
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120)
    const { scrollHeight } = document.documentElement
    const isEnd = scrollY > 0 && scrollY + innerHeight >= scrollHeight - 1
    // The last sections may be too short to reach the top.
    const chosen = headings.find(({ id }) => id === decodeURIComponent(location.hash.slice(1)))
    const isChosen = isEnd && chosen !== undefined && chosen.getBoundingClientRect().top > 0
    const current = links.get((isChosen ? chosen : (isEnd ? headings : passed).at(-1))?.id ?? '')
    for (const link of links.values()) link.removeAttribute('aria-current')
    current?.setAttribute('aria-current', 'true')
  }
  addEventListener('scroll', mark, { passive: true })
  addEventListener('hashchange', mark)
  mark()
}

/** The list of all pages may be longer than the screen. */
function showWhereWeAre(): void {
  const list = document.querySelector('.entries')
  const here = list?.querySelector('[aria-current]')
  if (!list || !here) return
  const { top, bottom } = here.getBoundingClientRect()
  if (bottom > innerHeight) list.scrollTop += top - innerHeight / 2
}

/** What scrolls sideways must be reachable by keyboard. */
function letKeysScroll(): void {
  for (const box of document.querySelectorAll<HTMLElement>('.code pre, .table')) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
    else box.removeAttribute('tabindex')
  }
}

function offerSearch(): void {
  const opener = document.querySelector<HTMLButtonElement>('.search-opener')
  if (!opener) return
  opener.hidden = false
  const open = async () => (await import('./search.ts')).openSearch()
  opener.addEventListener('click', open)
  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
    const isShortcut = event.key === 'k' && (event.ctrlKey || event.metaKey)
    if (!isShortcut && (event.key !== '/' || isTyping)) return
    event.preventDefault()
    void open()
  })
}
