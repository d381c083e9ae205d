/** A pseudo-random generator with a seed (mulberry32): every run of a benchmark sees the same data. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ACTIVITIES =
  'Construções,Transportes,Restaurante,Café,Padaria,Farmácia,Clínica,Oficina,Talho,Imobiliária,Consultoria,Informática,Metalúrgica,Serralharia,Carpintaria,Agrícola,Vinhos,Têxteis,Calçado,Cerâmica,Gráfica,Hotelaria,Turismo,Comércio de,Sociedade de,Indústrias,Electricidade,Limpezas,Segurança,Seguros,Contabilidade,Arquitectura,Engenharia,Publicidade,Mobiliário,Automóveis,Pneus,Combustíveis,Frutas,Pescas,Mármores,Plásticos,Jardins,Ginásio,Escola,Livraria,Ourivesaria,Óptica,Lavandaria,Cabeleireiro'.split(
    ',',
  );
const SURNAMES =
  'Silva,Santos,Ferreira,Pereira,Oliveira,Costa,Rodrigues,Martins,Jesus,Sousa,Fernandes,Gonçalves,Gomes,Lopes,Marques,Alves,Almeida,Ribeiro,Pinto,Carvalho,Teixeira,Moreira,Correia,Mendes,Nunes,Soares,Vieira,Monteiro,Cardoso,Rocha,Raposo,Neves,Coelho,Cruz,Cunha,Pires,Ramos,Reis,Simões,Antunes,Matos,Fonseca,Morais,Araújo,Barbosa,Azevedo,Tavares,Lourenço,Freitas,Figueiredo,Ávila,Assunção,Brandão,Leitão,Guimarães,Magalhães,Seixas,Queirós,Vaz,Zagalo'.split(
    ',',
  );
const PLACES =
  'Lisboa,Porto,Braga,Coimbra,Aveiro,Faro,Évora,Setúbal,Viseu,Leiria,Guarda,Beja,Bragança,Tomar,Sintra,Cascais,Almada,Loulé,Funchal,Açores,Minho,Douro,Tejo,Mondego,Serra da Estrela,Ribatejo,Alentejo,Algarve'.split(
    ',',
  );
const SYLLABLES =
  'ba,ce,di,fo,gu,la,me,ni,po,ru,sa,te,vi,xo,zu,bra,cre,dri,flo,glu,pla,tre,nova,tec,max,lux,ser,mar,sol,net'.split(
    ',',
  );
const FORMS = [
  ', Lda',
  ', LDA.',
  ' Lda.',
  ', S.A.',
  ' SA',
  ', Unipessoal, Lda',
  ', Unipessoal Lda.',
  '',
  ' - Lda',
  ', CRL',
];

export interface GeneratedCompany {
  nif: string;
  name: string;
}

/** Company number `index` of the generator with this seed: a valid NIF that no other index has, and a name. */
export function generateCompany(index: number, seed = 1): GeneratedCompany {
  const random = seededRandom(Math.imul(index + 1, 0x9e3779b1) ^ seed);
  const pick = <T>(list: T[]) => list[Math.floor(random() * list.length)]!;
  const invented = () =>
    Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(SYLLABLES))
      .join('')
      .replace(/^./, (letter) => letter.toUpperCase());
  const kind = random();
  let name: string;
  if (kind < 0.3) name = `${pick(ACTIVITIES)} ${pick(SURNAMES)} & ${pick(SURNAMES)}`;
  else if (kind < 0.45) name = `${pick(SURNAMES)}, ${pick(SURNAMES)} & Filhos`;
  else if (kind < 0.75) name = `${invented()} - ${pick(ACTIVITIES)} ${pick(PLACES)}`;
  else if (kind < 0.9) name = `${pick(ACTIVITIES)} ${invented()} de ${pick(PLACES)}`;
  else name = `${String.fromCharCode(65 + Math.floor(random() * 26))}. ${pick(SURNAMES)} ${invented()}`;
  return { nif: nifOf(index), name: name + pick(FORMS) };
}

/** So many companies. @param company by its number */
export function* companies(
  rows: number,
  company: (index: number) => GeneratedCompany = (index) => generateCompany(index),
): Generator<GeneratedCompany> {
  for (let index = 0; index < rows; index += 1) yield company(index);
}

/** Numbers in no order, as the rows of a register's export. */
export const shuffled = (index: number): number => (index * 7_919) % 9_999_991;

/** The valid NIF of a number below 100 million: collective persons' NIFs begin with 5. */
export function nifOf(index: number): string {
  const digits = String(500_000_00 + (index % 50_000_000)).padStart(8, '0');
  let sum = 0;
  for (let place = 0; place < 8; place += 1) sum += (digits.charCodeAt(place) - 48) * (9 - place);
  const check = 11 - (sum % 11);
  return digits + (check > 9 ? 0 : check);
}
