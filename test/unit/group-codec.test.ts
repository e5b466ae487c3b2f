import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameCursor, checkGroup, recordChecksum } from '../../src/codec/frame-cursor.ts';
import {
  GROUP_HEADER_BYTES,
  GroupEncoder,
  RecordKind,
  peekPosition,
  readGroup,
  readGroupHeader,
  readRecords,
} from '../../src/codec/group.ts';
import type { StoreRecord } from '../../src/codec/group.ts';

const record: fc.Arbitrary<StoreRecord> = fc.record({
  kind: fc.constantFrom(...Object.values(RecordKind)),
  key: fc.string({ unit: 'grapheme', maxLength: 40 }),
  value: fc.string({ unit: 'grapheme', maxLength: 300 }),
});

function encode(records: readonly StoreRecord[], position = 7, epoch = 3, bytes = 64): Buffer {
  const encoder = new GroupEncoder(bytes);
  for (const { kind, key, value } of records) encoder.add(kind, key, value);
  return Buffer.from(encoder.finish(position, epoch));
}

function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

describe('a commit group', () => {
  test('gives back what was put in, whatever the size of the first buffer', () => {
    fc.assert(
      fc.property(
        fc.array(record, { maxLength: 30 }),
        fc.nat({ max: 500 }),
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        (records, bytes, position) => {
          const group = encode(records, position, 3, bytes);
          expect([...readGroup(group)]).toEqual(records);
          expect(readGroupHeader(group)).toEqual({ position, epoch: 3, records: records.length });
          checkGroup(group, position, 3);
        },
      ),
    );
  });

  test('says how much each record takes', () => {
    const encoder = new GroupEncoder();
    const before = encoder.bytes;
    const taken = encoder.add(RecordKind.put, 'ä', '☃');
    expect(encoder.bytes - before).toBe(taken);
    expect(taken).toBe(8 + 3 + 2 + 3);
    expect(encoder.records).toBe(1);
  });

  test('a key longer than 65,535 bytes is refused and leaves the group as it was', () => {
    const encoder = new GroupEncoder();
    encoder.add(RecordKind.put, 'a', '1');
    expect(() => encoder.add(RecordKind.put, 'ä'.repeat(32_768), '1')).toThrow(RangeError);
    encoder.add(RecordKind.put, 'k'.repeat(65_535), '2');
    expect([...readGroup(encoder.finish(1, 1))].map(({ value }) => value)).toEqual(['1', '2']);
  });

  test('every flipped bit is found by every reader', () => {
    const group = encode([
      { kind: RecordKind.put, key: 'p/1', value: '{"a":1}' },
      { kind: RecordKind.history, key: '1', value: '[1]' },
    ]);
    for (let bit = 0; bit < group.length * 8; bit++) {
      const bad = flipped(group, bit);
      const where = { code: 'STORE_DAMAGED' };
      expect(() => [...readGroup(bad)]).toThrow(expect.objectContaining(where));
      const placed = { ...where, details: expect.objectContaining({ position: 7 }) as unknown };
      expect(() => {
        checkGroup(bad, 7, 3);
      }).toThrow(expect.objectContaining(placed));
    }
  });

  test('cut at any byte it is damaged', () => {
    const group = encode([{ kind: RecordKind.put, key: 'p/1', value: '{"a":1}' }]);
    for (let length = 0; length < group.length; length++) {
      expect(() => [...readGroup(group.subarray(0, length))]).toThrow(/STORE_DAMAGED/);
    }
  });

  test('is refused at another position or under another epoch than its own', () => {
    const group = encode([], 7, 3);
    for (const [position, epoch] of [
      [8, 3],
      [7, 4],
    ] as const) {
      expect(() => {
        checkGroup(group, position, epoch);
      }).toThrow(/STORE_DAMAGED/);
    }
  });

  test('is recognised by its first bytes', () => {
    const group = encode([{ kind: RecordKind.put, key: 'k', value: 'v' }], 42);
    expect(peekPosition(group.subarray(0, GROUP_HEADER_BYTES))).toBe(42);
    expect(peekPosition(group.subarray(0, GROUP_HEADER_BYTES - 1))).toBe(0);
    for (let bit = 0; bit < GROUP_HEADER_BYTES * 8; bit++) {
      expect(peekPosition(flipped(group, bit))).toBe(0);
    }
  });
});

describe('a cursor over frames', () => {
  test('finds the same records as the decoding reader', () => {
    fc.assert(
      fc.property(fc.array(record, { maxLength: 20 }), (records) => {
        const cursor = FrameCursor.ofGroup(encode(records), 7);
        const found: StoreRecord[] = [];
        while (cursor.next()) {
          const value = cursor.valueBytes().toString('utf8');
          const kind = cursor.kind as StoreRecord['kind'];
          found.push({ kind, key: cursor.keyText(), value });
          expect(cursor.index).toBe(found.length - 1);
          expect([...readRecords(cursor.frameBytes(), 1)]).toEqual([found.at(-1)]);
          expect(cursor.crc).toBe(recordChecksum(kind, cursor.keyText(), cursor.valueBytes()));
        }
        expect(found).toEqual(records);
      }),
    );
  });

  test('refuses a group that lacks records, which its header counts', () => {
    const one = { kind: RecordKind.put, key: 'k', value: 'v' };
    const group = encode([one, one]);
    const half = (group.length - GROUP_HEADER_BYTES) / 2;
    const short = Buffer.from(group.subarray(0, group.length - half));
    short.writeUInt32LE(half, 24);
    short.writeUInt32LE(crc32(short.subarray(0, 28)), 28);
    expect(() => {
      checkGroup(short, 7);
    }).toThrow('the group at position 7 lacks records');
  });

  test('refuses a record of an unknown kind', () => {
    const body = Buffer.from([9, 1, 0, 0x6b, 0x76]);
    const frame = Buffer.alloc(8 + body.length);
    frame.writeUInt32LE(body.length, 0);
    frame.writeUInt32LE(crc32(body), 4);
    body.copy(frame, 8);
    expect(() => new FrameCursor(frame, 0, 5).next()).toThrow(
      'record 0 at position 5 is of an unknown kind',
    );
  });

  test('refuses a record whose key is longer than itself', () => {
    const body = Buffer.from([1, 200, 0, 0x6b]);
    const frame = Buffer.alloc(8 + body.length);
    frame.writeUInt32LE(body.length, 0);
    frame.writeUInt32LE(crc32(body), 4);
    body.copy(frame, 8);
    expect(() => new FrameCursor(frame, 0, 5).next()).toThrow('has a key longer than itself');
  });
});
