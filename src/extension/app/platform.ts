import type { BookmarksApi, CookiesApi, SessionStorageApi } from '../index.ts'
import type { Answer, Question } from './messages.ts'

/** As much of `chrome` as the extension uses. Firefox has it under the same name. */
export interface Platform {
  bookmarks: BookmarksApi
  cookies: CookiesApi
  alarms: {
    create(name: string, info: { periodInMinutes: number }): void
    onAlarm: { addListener(listener: () => void): void }
  }
  action: {
    setBadgeText(badge: { text: string }): Promise<void>
    setBadgeBackgroundColor(badge: { color: string }): Promise<void>
  }
  permissions: {
    request(asked: { origins: string[] }): Promise<boolean>
    contains(asked: { origins: string[] }): Promise<boolean>
    remove(given: { origins: string[] }): Promise<boolean>
  }
  runtime: {
    getURL(path: string): string
    getPlatformInfo(): Promise<unknown>
    openOptionsPage(): void
    sendMessage(question: Question): Promise<Answer>
    onStartup: { addListener(listener: () => void): void }
    onInstalled: { addListener(listener: (details: { reason: string }) => void): void }
    onMessage: {
      addListener(listener: (question: Question, sender: object, respond: (answer: Answer) => void) => boolean): void
    }
  }
  storage: {
    session: SessionStorageApi
    local: {
      get(names: string[]): Promise<Record<string, unknown>>
      set(values: Record<string, unknown>): Promise<void>
      clear(): Promise<void>
    }
  }
  tabs: {
    create(tab: { url: string }): Promise<{ id?: number }>
    remove(id: number): Promise<void>
  }
}

declare const chrome: Platform

export const platform: Platform = chrome
