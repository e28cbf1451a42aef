// Plain JavaScript, because an old Node cannot read TypeScript. Runs first in `npm start` and in the bundle's commands.
const required = 24
const { node } = process.versions
if (Number.parseInt(node, 10) < required) {
  console.error(`Node ${required} or later is required. This is Node ${node} (${process.execPath}).`)
  process.exit(1)
}
