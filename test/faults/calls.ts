import type { GeneratedCompany } from '../../bench/lib/names.ts';

/** The paths of single calls about a company. @param letters of its name that the search has */
export const callsAbout = ({ nif, name }: GeneratedCompany, letters = 8) => ({
  lookup: `/companies/${nif}`,
  search: `/companies?q=${encodeURIComponent(name.slice(0, letters))}`,
  usage: '/usage',
});
