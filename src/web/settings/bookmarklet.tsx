import { tell } from '../ui/tell.ts'

/** A bookmark for the browser's own bar, which saves the page that is shown there. */
export function Bookmarklet() {
  const code = `open('${location.origin}/#/add/'+encodeURIComponent(JSON.stringify([document.title,location.href])))`
  return (
    <section class="panel">
      <h2>Add from any page</h2>
      <p>Drag this button to the bookmarks bar of your browser. Pressed on any page, it saves that page here.</p>
      <div class="bar">
        <a
          class="button"
          href={`javascript:void(${code})`}
          onClick={(event) => {
            event.preventDefault()
            tell('Drag it to the bookmarks bar of your browser, and press it there')
          }}
        >
          Add this page
        </a>
      </div>
    </section>
  )
}
