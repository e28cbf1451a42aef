#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { WebSocket, WebSocketServer } from 'ws'

/**
 * Starts Firefox in place of Playwright and relays their messages. Playwright asks every browser to emulate colour
 * schemes. The ESR of Firefox refuses that, and Playwright would give up, so the relay itself answers that request.
 */
const firefox = spawn(process.env.FIREFOX_BIN ?? '', process.argv.slice(2), { stdio: ['ignore', 'inherit', 'pipe'] })
firefox.on('exit', (code) => process.exit(code ?? 1))

for await (const line of createInterface(firefox.stderr)) {
  const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? []
  console.error(address === undefined ? line : `WebDriver BiDi listening on ${await relay(address)}`)
}

async function relay(address: string): Promise<string> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  server.on('connection', (playwright, { url }) => void pass(playwright, new WebSocket(`${address}${url}`)))
  await once(server, 'listening')
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function pass(playwright: WebSocket, browser: WebSocket): Promise<void> {
  const isOpen = once(browser, 'open')
  playwright.on('message', async (data) => {
    await isOpen
    const { id, method } = JSON.parse(`${data}`)
    if (method === 'emulation.setMediaFeaturesOverride')
      playwright.send(JSON.stringify({ type: 'success', id, result: {} }))
    else browser.send(`${data}`)
  })
  browser.on('message', (data) => playwright.send(`${data}`))
  playwright.on('close', () => browser.close())
  browser.on('close', () => playwright.close())
}
