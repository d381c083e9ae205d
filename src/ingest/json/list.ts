/**
 * A JSON list of objects of any length, alone or as a member of a JSON object (contract, Files: `.json`, `--list`).
 *
 * No library does this: a row over 64 KiB must be rejected without being kept, and a rejected row needs its line and its text.
 * Streaming parsers (@streamparser/json 0.0.22, stream-json 1.9) keep a string of any length until it ends, or don't say where
 * a value began. This parser finds the end of each object, and `JSON.parse` reads it.
 */
import { isUtf8 } from 'node:buffer';
import { FileError } from '../../terminal/file-error.ts';
import { shownNames } from '../columns.ts';
import { type Cursor, type Found, LF, type ParseRows } from '../cursor.ts';
import { notUtf8 } from '../encoding.ts';
import { MAX_ROW_BYTES, REASONS, rawText } from '../rows.ts';
import type { ObjectReader } from './object.ts';
import { isJsonSpace, JsonValueEnd } from './value.ts';

/** Objects in each other in which lists are looked for, to name them. */
const MAX_DEPTH = 4;

/** The next expected element of the file. */
type Expected =
  | 'document'
  | 'row or ]'
  | 'row'
  | ', or ]'
  | 'name or }'
  | 'name'
  | ':'
  | 'member'
  | ', or }'
  | 'end of the file';

export interface ListParser {
  parse: ParseRows;
  /**
   * Call it at the end of the file.
   * @throws {FileError} the file was cut off, has no such list, or no object has one of the columns
   */
  finish(): void;
  /** Members of the JSON object that are lists, so far, with dots for inner objects. */
  readonly lists: readonly string[];
}

/**
 * A parser of one file.
 * @param list the member that holds the list; a dot reads a member of an object. `null` means that the file is the list. (Then
 * an object is read to its end, to name its lists.)
 */
export function jsonListParser(fileName: string, objects: ObjectReader, list: string | null): ListParser {
  let expected: Expected = 'document';
  let hasList = false;
  /** The beginnings of the names of members, for each object that the cursor is in: `['', 'result.']`. */
  const prefixes: string[] = [];
  let memberName = '';
  const names: string[] = [];
  const lists: string[] = [];
  /** A value that is skipped as it arrives: another member, or a row over 64 KiB. */
  let skipped: JsonValueEnd | null = null;

  const fail = (what: string) => new FileError(`${fileName}: ${what}`);
  const unexpected = (line: number) =>
    fail(
      expected === 'document'
        ? 'is not JSON; expected a list of objects'
        : `line ${line} is not JSON: expected ${expected}`,
    );

  function parse(cursor: Cursor, found: Found): void {
    if (skipped !== null && !skip(cursor)) return;
    while (passSpace(cursor)) {
      const byte = String.fromCharCode(cursor.bytes[cursor.at]!);
      if (expected === 'member') {
        if (!member(cursor, byte)) return;
      } else if (expected === 'row' || (expected === 'row or ]' && byte !== ']')) {
        if (!row(cursor, found)) return;
      } else if (expected === 'name' || (expected === 'name or }' && byte !== '}')) {
        if (!name(cursor, byte)) return;
      } else {
        punctuation(byte, cursor.line);
        cursor.at++;
      }
    }
  }

  function punctuation(byte: string, line: number): void {
    if (expected === 'document' && byte === '[') {
      if (list !== null) throw fail('is a JSON list itself: leave --list out');
      hasList = true;
      expected = 'row or ]';
    } else if (expected === 'document' && byte === '{') enter('');
    else if (expected === ', or ]' && byte === ',') expected = 'row';
    else if (expected === ', or }' && byte === ',') expected = 'name';
    else if (expected === ':' && byte === ':') expected = 'member';
    else if ((expected === ', or ]' || expected === 'row or ]') && byte === ']') endValue();
    else if ((expected === ', or }' || expected === 'name or }') && byte === '}') {
      prefixes.pop();
      endValue();
    } else if (expected === 'end of the file' && names.length > 0 && byte === '{' && list === null)
      throw fail('has one JSON object after another (JSON Lines): name it .jsonl');
    else throw unexpected(line);
  }

  function enter(prefix: string): void {
    prefixes.push(prefix);
    expected = 'name or }';
  }

  function endValue(): void {
    expected = prefixes.length > 0 ? ', or }' : 'end of the file';
  }

  /** @returns false if more of the file is needed, as the next three functions do */
  function row(cursor: Cursor, found: Found): boolean {
    const { bytes, at: from, end, line } = cursor;
    const value = new JsonValueEnd();
    const to = value.find(bytes, from, end);
    if (to === from) throw unexpected(line);
    const readTo = to === -1 ? end : to;
    if (readTo - from > MAX_ROW_BYTES) {
      found.rejected.push({ line, reason: REASONS.tooLong, raw: rawText(bytes, from, readTo) });
      expected = ', or ]';
      return leave(cursor, value, to);
    }
    if (to === -1) return false;
    if (!isUtf8(bytes.subarray(from, to))) throw notUtf8(fileName, line);
    const values = objects.read(bytes.toString('utf8', from, to));
    if (typeof values === 'string')
      found.rejected.push({ line, reason: values, raw: rawText(bytes, from, to) });
    else found.rows.push({ line, values, from, to });
    expected = ', or ]';
    return leave(cursor, value, to);
  }

  function name(cursor: Cursor, byte: string): boolean {
    const { bytes, at: from, end, line } = cursor;
    if (byte !== '"') throw unexpected(line);
    const to = new JsonValueEnd().find(bytes, from, end);
    if (to === -1) {
      if (end - from > MAX_ROW_BYTES) throw unexpected(line);
      return false;
    }
    if (!isUtf8(bytes.subarray(from, to))) throw notUtf8(fileName, line);
    try {
      memberName = prefixes.at(-1) + JSON.parse(bytes.toString('utf8', from, to));
    } catch {
      throw unexpected(line);
    }
    cursor.at = to;
    expected = ':';
    return true;
  }

  function member(cursor: Cursor, byte: string): boolean {
    if (names.length < 1_000) names.push(memberName);
    if (byte === '[' && lists.length < 1_000) lists.push(memberName);
    if (memberName === list) {
      if (hasList) throw fail(`has the member ${list} twice`);
      if (byte !== '[') throw fail(`its member ${list} is not a list`);
      hasList = true;
      expected = 'row or ]';
      cursor.at++;
      return true;
    }
    const isOnTheWay = list === null ? prefixes.length < MAX_DEPTH : list.startsWith(`${memberName}.`);
    if (byte === '{' && isOnTheWay) {
      enter(`${memberName}.`);
      cursor.at++;
      return true;
    }
    const value = new JsonValueEnd();
    const to = value.find(cursor.bytes, cursor.at, cursor.end);
    if (to === cursor.at) throw unexpected(cursor.line);
    expected = ', or }';
    return leave(cursor, value, to);
  }

  function leave(cursor: Cursor, value: JsonValueEnd, to: number): boolean {
    cursor.line += value.lineBreaks;
    value.lineBreaks = 0;
    cursor.at = to === -1 ? cursor.end : to;
    skipped = to === -1 ? value : null;
    return to !== -1;
  }

  function skip(cursor: Cursor): boolean {
    return leave(cursor, skipped!, skipped!.find(cursor.bytes, cursor.at, cursor.end));
  }

  return {
    parse,
    lists,
    finish() {
      if (expected !== 'end of the file' || skipped !== null)
        throw fail('the JSON ends in the middle: the file was cut off, or a quote or bracket is not closed');
      if (hasList) return objects.finish();
      if (list !== null)
        throw fail(`has no member ${list}; found ${names.length === 0 ? 'none' : shownNames(names)}`);
      throw fail(
        lists.length === 0
          ? 'is a JSON object without a list; expected a list of objects'
          : `is a JSON object; its lists are ${shownNames(lists)}: choose one with --list NAME`,
      );
    },
  };
}

/** @returns false if nothing else is in memory */
function passSpace(cursor: Cursor): boolean {
  const { bytes, end } = cursor;
  while (cursor.at < end && isJsonSpace(bytes[cursor.at]!)) {
    if (bytes[cursor.at] === LF) cursor.line++;
    cursor.at++;
  }
  return cursor.at < end;
}
