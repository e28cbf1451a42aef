interface Count {
  count: number
  what: string
  why: string
}

/** Large numbers, each with what was counted. */
export function Counts({ lines, kind = '' }: { lines: Count[]; kind?: string }) {
  return (
    <dl class={`counts ${kind}`}>
      {lines.map(({ count, what, why }) => (
        <div key={what}>
          <dt>
            <span class="count-number">{count.toLocaleString()}</span> {what}
          </dt>
          <dd class="hint">{why}</dd>
        </div>
      ))}
    </dl>
  )
}
