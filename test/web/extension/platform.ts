import type { CookiesApi } from '../../../src/extension/index.ts'
import type { Question, WorkerState } from './messages.ts'

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
  cookies: CookiesApi
}
