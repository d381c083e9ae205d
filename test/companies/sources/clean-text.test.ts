import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { capitalText, currencyText } from '../../../src/companies/sources/capital.ts';
import { cleanLines, cleanText, cleanTexts, joinTexts } from '../../../src/companies/sources/clean-text.ts';

describe('cleanText', () => {
  test.each([
    ['Café &amp; Bar', 'Café & Bar'],
    ['S&atilde;o Jo&#227;o &#xE9;', 'São João é'],
    ['&amp;lt;b&amp;gt;', '&lt;b&gt;'],
    ['&amp;amp;', '&amp;'],
    ['&lt;b&gt;bold&lt;/b&gt;', 'bold'],
    ['&lt;script&gt;alert(1)&lt;/script&gt;ok', 'ok'],
    ['R&D, A&LTDA, AT&T, &notit; &copy', 'R&D, A&LTDA, AT&T, &notit; &copy'],
    ['&#0;&#x80;&#xD800;&#x110000;', '\ufffd€\ufffd\ufffd'],
  ])('decodes entities once, then takes tags out: %s → %s', (given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  test.each([
    ['5 < 6 and 7 > 6', '5 < 6 and 7 > 6'],
    ['a <3 b <= c', 'a <3 b <= c'],
    ['<p>one</p><p>two</p>', 'one two'],
    ['one<br>two<br/>three<BR />four', 'one two three four'],
    ['<ul><li>a<li>b</ul>', 'a b'],
    ['b<b>ol</b>d', 'bold'],
    ['<script>var x = "<p>no</p>"</script>yes', 'yes'],
    ['<STYLE type="a">p { }</STYLE>yes', 'yes'],
    ['yes<script>never closed', 'yes'],
    ['yes<script src=x', 'yes'],
    ['<a title="5 > 3" href=\'x\'>link</a>', 'link'],
    ['<!-- no -->yes<!doctype html><?php no ?>', 'yes'],
    ['yes<!-- never closed', 'yes'],
    ['<svg><![CDATA[no]]></svg>yes', 'yes'],
    ['yes</', 'yes'],
    ['yes<!', 'yes'],
    ['5 <', '5 <'],
    ['one</p class>two', 'one two'],
    ['<<b>i>x', 'i>x'],
    ['<textarea><b>x</b></textarea>', 'x'],
  ])('takes tags out and nothing else: %s → %s', (given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  test.each([
    ['Rua \u202e3 aroH\u202c', 'Rua 3 aroH'],
    ['Ru&#x202e;a &rlm;3', 'Rua 3'],
    ['<\u202eb>x', 'x'],
    ['\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069', ''],
    ['a\u200db', 'a\u200db'],
  ])('removes what turns the direction of a text, as for terminals: %j', (given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  test.each([
    ['  a \t\r\n b\u00a0\u3000c ', 'a b c'],
    ['a\u0000b\u0007c\u007fd\u0085e\u009bf', 'a b c d e f'],
    ['a\u2028b\u2029c\ufeffd', 'a b c d'],
    ['&#10;a&#9;b&#x1b;[31m&nbsp;', 'a b [31m'],
    ['a\ud800b', 'a\ufffdb'],
    [' \n ', ''],
  ])('turns control characters and white space into single spaces: %j', (given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  test('is at most 10,000 characters, and never half of one', () => {
    expect(cleanText('x'.repeat(10_001))).toBe('x'.repeat(10_000));
    expect(cleanText('x'.repeat(9_999) + '😀')).toBe('x'.repeat(9_999));
    expect(cleanText('x'.repeat(9_999) + ' y')).toBe('x'.repeat(9_999));
  });

  test.each([
    [null, ''],
    [undefined, ''],
    [true, ''],
    [{ text: 'a' }, ''],
    [[], ''],
    [Number.POSITIVE_INFINITY, ''],
    [0, '0'],
    [62010, '62010'],
    [1e21, '1000000000000000000000'],
    [[null, ' ', '<p>b</p>', 'c'], 'b'],
    [[['nested']], ''],
  ])('reads values of other types: %j → %j', (given, expected) => {
    expect(cleanText(given)).toBe(expected);
  });

  // A mebibyte is what a provider can send at most, and to clean all of it would stop the process for half a second.
  test.each([
    ['tags', '<b>'],
    ['angle brackets', '<'],
    ['entities', '&amp;'],
    ['unfinished closing tags', '</p '],
    ['unfinished comments', '<!--'],
    ['paragraphs', '<p>x</p>'],
    ['spaces', ' '],
    ['half surrogate pairs', '\ud800'],
  ])('reads the first 20,000 characters of a mebibyte of %s', (_, part) => {
    const hostile = part.repeat(2 ** 20 / part.length);
    const cleaned = cleanText(`${hostile}unread`);
    expect(cleaned).toBe(cleanText(hostile.slice(0, 20_000)));
    expect(cleaned.length).toBeLessThanOrEqual(10_000);
  });
});

describe('cleanText, for any text', () => {
  const markup = fc
    .array(
      fc.constantFrom(
        ...'< > / ! ? - = " \' & ; # x a b p script style textarea title br lt gt amp <b> </b> <script> </script> <!-- --> &lt; &gt; &amp; &#60;'.split(
          ' ',
        ),
        ' ',
        '\n',
        '\u0000',
        'é',
        '\ud83d',
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join(''));
  const anything = fc.oneof(markup, fc.string({ unit: 'binary' }), fc.string());

  test('leaves no tag, no control character, no doubled or outer space, and well-formed Unicode', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const cleaned = cleanText(text);
        expect(cleaned).not.toMatch(/<[A-Za-z/!?]/);
        expect(cleaned).not.toMatch(/[\p{Cc}\u2028\u2029]|\s\s/u);
        expect(cleaned).toBe(cleaned.trim());
        expect(cleaned.isWellFormed()).toBe(true);
        expect(cleaned.length).toBeLessThanOrEqual(10_000);
      }),
      { numRuns: 3000 },
    );
  });

  test('keeps text that has no markup and no entity, except its white space', () => {
    const plain = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[<&\p{Cc}]/gu, ''));
    fc.assert(
      fc.property(plain, (text) => {
        expect(cleanText(text)).toBe(text.replace(/[\s\u2028\u2029]+/g, ' ').trim());
      }),
    );
  });

  test('leaks nothing of a tag that is never closed', () => {
    const beginning = fc.stringMatching(/^<[/!?]?[a-z][a-z0-9 ="'/]{0,20}$/);
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z ]{0,10}$/), beginning, (before, tag) => {
        expect(cleanText(before + tag)).toBe(before.replace(/ +/g, ' ').trim());
      }),
      { numRuns: 1000 },
    );
  });

  test('gives back what was escaped, tags apart', () => {
    const word = fc.stringMatching(/^[a-zçãé0-9&"';]{1,12}$/);
    const escaped = (text: string) =>
      text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (words) => {
        expect(cleanText(words.map((each) => `<p class="a > b">${escaped(each)}</p>`).join('\n'))).toBe(
          words.join(' '),
        );
        expect(cleanText(words.map((each) => `<i>${escaped(each)}</i>`).join(''))).toBe(words.join(''));
      }),
    );
  });
});

describe('cleanTexts and cleanLines', () => {
  test('list the members that have text', () => {
    expect(cleanTexts(['Rua A', null, '', 5, ' Lote 2 '])).toEqual(['Rua A', '5', 'Lote 2']);
    expect(cleanTexts('one')).toEqual(['one']);
    expect(cleanTexts({})).toEqual([]);
  });

  test('read the first 50 members or lines, whose raw text has the bound of one value', () => {
    expect(cleanTexts(Array(250_000).fill('a'))).toEqual(Array(50).fill('a'));
    expect(cleanLines('a\n'.repeat(500_000))).toEqual(Array(50).fill('a'));
    expect(cleanTexts(Array(1000).fill('x'.repeat(9_999))).map(({ length }) => length)).toEqual([
      9_999, 9_999, 2,
    ]);
  });

  test('are joined to a text of at most 10,000 characters, which ends in no half of a pair', () => {
    expect(joinTexts(['Rua A', 'Lote 2'])).toBe('Rua A, Lote 2');
    expect(joinTexts(Array(50).fill('x'.repeat(1000)))).toHaveLength(10_000);
    const pairs = joinTexts(['x'.repeat(9_996), 'y😀😀']);
    expect([pairs.length, pairs.isWellFormed()]).toEqual([9_999, true]);
  });

  test('a tag that goes over several lines is out before the lines are parted', () => {
    expect(cleanLines('RUA <b\nclass="x">A</b>\r\n\n 1249-109\tLISBOA \n')).toEqual([
      'RUA A',
      '1249-109 LISBOA',
    ]);
    expect(cleanLines(null)).toEqual([]);
  });
});

test('a number is written without an exponent, and is exactly that number', () => {
  expect(cleanText(2.5e-7)).toBe('0.00000025');
  expect(cleanText(-1.25e21)).toBe('-1250000000000000000000');
  fc.assert(
    fc.property(
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .filter((value) => value === 0 || Math.abs(value) > 1e-80),
      (value) => {
        const text = cleanText(value);
        expect(text).toMatch(/^-?\d+(\.\d+)?$/);
        expect(Number(text)).toBe(value === 0 ? 0 : value);
      },
    ),
  );
});

describe('a share capital', () => {
  test.each([
    ['5000.00', '5000.00'],
    ['5000', '5000'],
    ['0005000.10', '5000.10'],
    ['0', '0'],
    ['0.500', '0.500'],
    ['12345.678', '12345.678'],
    [' 5000.00 ', '5000.00'],
    ['5000,00', '5000.00'],
    ['1.234.567,8', '1234567.8'],
    [5000, '5000'],
    [5000.5, '5000.5'],
    [1.234, '1.234'],
    [1e21, '1000000000000000000000'],
    [['5000.00'], '5000.00'],
  ])('reads %p as %s', (given, expected) => {
    expect(capitalText(given)).toBe(expected);
  });

  test.each([
    ...['5.000', '5,000.00', '1.234.56', '1234.567,8', '1,2,3', '-5000', '5000 USD', '5e3', '0x10'],
    ...['cinco mil', '5000.', '.5', '', '9'.repeat(41), null, undefined, {}, [[]], true],
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY, 1e300],
  ])('gives no figure rather than a doubtful one for %p', (given) => {
    expect(capitalText(given)).toBe('0');
  });

  test('is a decimal string for any value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.stringMatching(/^[0-9., €]{0,12}$/)), (value) => {
        expect(capitalText(value)).toMatch(/^(0|[1-9]\d*)(\.\d+)?$/);
      }),
    );
  });

  test.each([
    [null, 'EUR'],
    ['', 'EUR'],
    ['€', 'EUR'],
    ['usd', 'USD'],
    [{}, 'EUR'],
    ['escudos', 'escudos'],
  ])('the currency %p is %s', (given, expected) => {
    expect(currencyText(given)).toBe(expected);
  });
});
