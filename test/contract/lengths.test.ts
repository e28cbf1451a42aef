import t from 'tap'
import { faultFinderOf } from '../../src/service/contract/validation.ts'

t.test('Lengths are counted in characters, not in UTF-16 code units', async (t) => {
  const [loginFaults, idFaults] = [faultFinderOf('LoginRequest'), faultFinderOf('Id')]
  const isLogin = (character: string, count: number) => loginFaults({ returnTo: character.repeat(count) }) === undefined
  t.same(
    ['x', 'é', '😀', '\ud800'].map((character) => [isLogin(character, 2048), isLogin(character, 2049)]),
    Array(4).fill([true, false]),
  )
  t.same(
    ['', 'x', 'x'.repeat(128), 'x'.repeat(129)].map((id) => idFaults(id) === undefined),
    [false, true, true, false],
  )
})
