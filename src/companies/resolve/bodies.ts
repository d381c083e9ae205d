/** The names of public bodies: the legal one, and others that people use for the same body (docs/resolutions.md: the rule of resolutions). */
import { type Body, heavyPlaces } from './words.ts';

/**
 * Each line has the phrases, in heavy words, of one kind of body:
 * a municipality and its executive, a parish and its executive (Lei 75/2013), united parishes (Lei 11-A/2013), hospitals, which since
 * 2024 belong to local health units (Decreto-Lei 102/2023), municipal water services (Lei 50/2012), firefighters' associations
 * (Lei 32/2007), polytechnics (Lei 62/2007), school clusters (Decreto-Lei 75/2008), and directorates and inspectorates, which the
 * spelling of 2009 writes without `c`.
 */
const GROUPS = `
camara municipal, municipio
junta freguesia, freguesia
uniao freguesias, freguesia uniao freguesias, junta freguesia uniao freguesias, junta uniao freguesias
hospital, centro hospitalar, centro hospitalar universitario, unidade local saude
servicos municipalizados, servicos municipalizados agua saneamento, smas
bombeiros voluntarios, associacao humanitaria bombeiros voluntarios, associacao humanitaria bombeiros
santa casa misericordia, irmandade santa casa misericordia, misericordia
instituto politecnico, politecnico
agrupamento escolas, agrupamento vertical escolas
direcao geral, direccao geral
direcao regional, direccao regional
inspecao geral, inspeccao geral`
  .trim()
  .split('\n')
  .map((line) => line.split(', ').map((phrase) => phrase.split(' ')));

/** The longest first. */
const PHRASES = GROUPS.flatMap((phrases) => phrases.map((phrase) => ({ phrase, phrases }))).sort(
  (one, other) => other.phrase.length - one.phrase.length,
);

/** The body that the heavy words of a name begin with, if any. */
export function bodyOf(words: readonly string[]): Body | null {
  const heavy = heavyPlaces(words);
  const found = PHRASES.find(({ phrase }) => phrase.every((word, at) => words[heavy[at]!] === word));
  return found === undefined ? null : { ...found, places: heavy.slice(0, found.phrase.length) };
}
