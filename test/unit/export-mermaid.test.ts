/** State diagrams: what is drawn, and that Mermaid reads it as it is meant. */
import { createMachine } from 'xstate';
import { describe, expect, it } from 'vitest';
import { toMermaid } from '../../src/export/mermaid.ts';
import { awkward, everything } from '../support/exported-machines.ts';

/** The diagram's lines without their indentation. */
function linesOf(machine: Parameters<typeof toMermaid>[0]): readonly string[] {
  return toMermaid(machine)
    .split('\n')
    .map((line) => line.trim());
}

describe('a state diagram', () => {
  it('of a flat machine has its beginning, its transitions and its ends', () => {
    const door = createMachine({
      id: 'door',
      version: '3',
      initial: 'open',
      states: { open: { on: { SHUT: 'shut' } }, shut: { type: 'final' } },
    });
    expect(toMermaid(door)).toBe(
      [
        '---',
        'title: "door, version 3"',
        '---',
        'stateDiagram-v2',
        '  [*] --> open',
        '  open : open',
        '  shut : shut',
        '  open --> shut : SHUT',
        '  shut --> [*]',
        '',
      ].join('\n'),
    );
  });

  it('draws every kind of state and transition, each by a name', () => {
    expect(toMermaid(everything)).toMatchInlineSnapshot(`
      "---
      title: "everything, version 2"
      ---
      stateDiagram-v2
        [*] --> everything
        state "everything · entry / raise GO · PING / greet · IGNORED (ignored)" as everything {
          [*] --> parts
          state "parts" as parts {
            state "left" as left {
              [*] --> x
              x : x
              x : entry / greetBy
              x : exit / greetBy
              y : y
              back : back (history, deep)
              x --> y : GO [and(ready, not(ready))] / assign, inline
              x --> x : SELF
              back --> y : when never entered before
              y --> [*]
            }
            --
            state "right · invoke fetch as call · invoke kid · error (call) / greet" as right {
              [*] --> q
              q : q
              w : w
              w : invoke (inline)
              q --> w : after 1000 ms
              q --> w : after slow [isLate]
              w --> q : always [inline]
            }
            --
            parts__any : any of parts
            parts__again : parts, anew
          }
          over : over
          everything__any : any state
          everything__any --> over : CANCEL
          parts --> over : done
          over --> [*]
        }
        parts__any --> parts__again : AGAIN
        parts__any --> y : INTO
        x --> parts__again : UP
        right --> over : done (call) [ready]
        q --> back : BACK
      "
    `);
  });

  it('draws a machine without states as one box', () => {
    expect(linesOf(createMachine({ id: 'one' }))).toContain('one : one');
  });

  it('draws a parallel machine as regions of one box', () => {
    const states = { a: {}, b: {} };
    const lines = linesOf(createMachine({ id: 'both', type: 'parallel', states }));
    expect(lines.slice(4, -1)).toEqual([
      '[*] --> both',
      'state "both" as both {',
      'a : a',
      '--',
      'b : b',
      '}',
    ]);
  });

  it('keeps signs of its own language out of names and labels', () => {
    const label = 'we#58;ird#59; #34;ev#34; #60;b#62;#35;x#60;/b#62; #37;#37; #123;y#125;';
    expect(linesOf(awkward)).toContain(`state_end --> state_state : ${label}`);
    expect(linesOf(awkward)).toContain('state_end --> no_te : two lines');
  });

  it('gives no two states one identifier, and none a word of its language', () => {
    const declared = linesOf(awkward).flatMap((line) => {
      const found = /^(?:state ".*" as (\w+) \{|(\w+) : .*)$/.exec(line);
      return found === null ? [] : [found[1] ?? found[2]];
    });
    expect(declared).toHaveLength(7);
    expect(new Set(declared).size).toBe(7);
    for (const id of declared) expect(id).not.toMatch(/^(?:end|state|note)$/);
  });

  it('draws transitions between blocks behind all blocks: no state changes its place', () => {
    const lines = linesOf(everything);
    const crossing = lines.indexOf('q --> back : BACK');
    expect(crossing).toBeGreaterThan(lines.lastIndexOf('}'));
  });
});
