import { COMPANIES_DATA } from '../../companies/lookup/account-data.ts';
import type { AccountData } from '../../metering/account-data/account-data.ts';
import { METERING_DATA } from '../../metering/account-data/metering-data.ts';
import { DASHBOARD_DATA } from './dashboard-data.ts';

/** All that is stored of accounts, by wing, in the order of the lists of an export. */
export const WINGS: readonly AccountData[] = [DASHBOARD_DATA, METERING_DATA, COMPANIES_DATA];
