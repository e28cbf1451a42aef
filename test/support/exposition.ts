import assert from 'node:assert/strict'

interface Family {
  type: string
  samples: Sample[]
}

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** The scraped metrics. */
export interface Exposition {
  families: ReadonlyMap<string, Family>
  /** The value of a series; undefined if there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined
  /** The values of a metric that has one label, by that label. */
  byLabel(name: string): Record<string, number>
}

/** Reads counters, gauges and histograms in Prometheus's text format 0.0.4. Fails for most faults of format or names. */
export function parseExposition(text: string): Exposition {
  assert.match(text, /^[^\r]*\n$/, 'lines end with a line feed')
  const families = new Map<string, Family>()
  let family: Family | undefined
  let name = ''
  for (const line of text.split('\n').filter(Boolean)) {
    const [, keyword, of = '', rest = ''] = /^# (HELP|TYPE) ([A-Za-z_:][\w:]*) (.+)$/.exec(line) ?? []
    if (keyword === 'HELP') {
      assert.ok(!families.has(of), `${of} occurs twice`)
      name = of
      family = undefined
    } else if (keyword === 'TYPE') {
      assert.equal(of, name, 'the type follows the help')
      family = { type: rest, samples: [] }
      families.set(name, family)
    } else {
      assert.ok(family, `a sample without a type: ${line}`)
      family.samples.push(parseSample(line, name, family.type))
    }
  }
  for (const [name, family] of families) check(name, family)

  const all = [...families.values()].flatMap(({ samples }) => samples)
  const series = new Map(all.map((sample) => [keyOf(sample), sample.value]))
  assert.equal(series.size, all.length, 'no series occurs twice')
  return {
    families,
    value: (name, labels = {}) => series.get(keyOf({ name, labels })),
    byLabel: (name) =>
      Object.fromEntries(
        (families.get(name)?.samples ?? []).map(({ labels, value }) => [Object.values(labels).join(), value]),
      ),
  }
}

function parseSample(line: string, family: string, type: string): Sample {
  const [, name = '', labelText = '', number = ''] =
    /^([A-Za-z_:][\w:]*)(?:\{((?:[A-Za-z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$/.exec(line) ?? []
  assert.ok(name, `not a sample: ${line}`)
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  assert.ok(
    suffixes.some((suffix) => name === family + suffix),
    `${name} among ${family}`,
  )
  const pairs = [...labelText.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', value = '']) => [key, value])
  const labels = Object.fromEntries(pairs)
  assert.equal(Object.keys(labels).length, pairs.length, `a label occurs twice: ${line}`)
  return { name, labels, value: parseNumber(number) }
}

function parseNumber(text: string): number {
  if (/^nan$/i.test(text)) return Number.NaN
  const value = text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text)
  assert.ok(!Number.isNaN(value), `not a number: ${text}`)
  return value
}

function check(name: string, { type, samples }: Family): void {
  assert.match(type, /^(counter|gauge|histogram)$/, name)
  assert.doesNotMatch(name, /_(milliseconds|ms|minutes|kilobytes|mb|mib|percent)(_|$)/, `${name} is in base units`)
  if (type === 'counter') assert.match(name, /_total$/, `the counter ${name}`)
  if (type === 'counter') for (const { value } of samples) assert.ok(value >= 0, `the counter ${name} is ${value}`)
  if (type === 'histogram') checkHistogram(name, samples)
}

function checkHistogram(name: string, samples: Sample[]): void {
  const groups = Map.groupBy(samples, ({ labels: { le, ...rest } }) => keyOf({ name, labels: rest }))
  for (const [key, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => parseNumber(labels.le ?? ''))
    assert.deepEqual(
      bounds,
      bounds.toSorted((one, other) => one - other),
      `${key}: bounds rise`,
    )
    const counts = buckets.map(({ value }) => value)
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
      `${key}: counts are cumulative`,
    )
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY, key)
    assert.equal(counts.at(-1), group.find((sample) => sample.name === `${name}_count`)?.value, key)
    assert.ok(
      group.some((sample) => sample.name === `${name}_sum`),
      key,
    )
  }
}

function keyOf({ name, labels }: Pick<Sample, 'name' | 'labels'>): string {
  return `${name}${JSON.stringify(Object.entries(labels).sort())}`
}
