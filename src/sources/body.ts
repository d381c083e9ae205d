import { PassThrough, type Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { KIB, MIB } from '../units.ts';
import type { FaultReason } from './types.ts';

/** An answer over 1 MiB is a failure (contract: not found). */
const MAX_BODY_BYTES = MIB;
/** 1 MiB that can't be compressed grows by a few bytes for every stored block. */
const MAX_PACKED_BYTES = MAX_BODY_BYTES + 64 * KIB;

/** The reason why an answer was refused. The client makes a SourceFault of it. */
export class BodyFault extends Error {
  readonly reason: FaultReason;

  constructor(reason: FaultReason) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Reads and decompresses a body of at most 1 MiB after decompression. If it throws, it has closed the connection. It
 * decompresses in pieces of 16 KiB, so that a bomb costs no more memory than an honest answer.
 */
export async function readBody(
  body: Readable,
  encoding: string | string[] | undefined,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const decoder = decoderFor(encoding);
  if (!decoder) {
    body.on('error', () => {});
    body.destroy();
    throw new BodyFault('unreadable');
  }
  let broken = false;
  decoder.once('error', () => {
    broken = !body.errored;
  });
  const pieces: Uint8Array[] = [];
  try {
    await pipeline(
      body,
      capped(MAX_PACKED_BYTES),
      decoder,
      capped(MAX_BODY_BYTES),
      async (unpacked: AsyncIterable<Uint8Array>) => {
        for await (const piece of unpacked) pieces.push(piece);
      },
      { signal },
    );
  } catch (error) {
    throw broken && !(error instanceof BodyFault) ? new BodyFault('unreadable') : error;
  }
  return Buffer.concat(pieces);
}

function capped(maxBytes: number) {
  return async function* (pieces: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > maxBytes) throw new BodyFault('too-large');
      yield piece;
    }
  };
}

/** We ask for gzip only, but servers may send another encoding. Several encodings at once are refused, as a bomb has them. */
function decoderFor(encoding: string | string[] | undefined): Transform | undefined {
  switch (
    String(encoding ?? '')
      .trim()
      .toLowerCase()
  ) {
    case '':
    case 'identity':
      return new PassThrough();
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
