import type { Question, WorkerState } from './messages.ts'

export interface Cookie {
  name: string
  value: string
  path: string
  expirationDate?: number
}

/** As much of `chrome` as this extension uses. */
export interface ExtensionPlatform {
  runtime: {
    sendMessage(question: Question): Promise<WorkerState>
    onMessage: {
      addListener(
        listener: (question: Question, sender: object, respond: (state: WorkerState) => void) => boolean,
      ): void
    }
  }
  cookies: {
    get(cookie: { url: string; name: string }): Promise<Cookie | null>
    set(cookie: Cookie & { url: string; secure: true; httpOnly: true; sameSite: 'no_restriction' }): Promise<unknown>
    onChanged: { addListener(listener: (change: { cookie: Cookie; removed: boolean }) => void): void }
  }
}
