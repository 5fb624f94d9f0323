import { adEvents } from "./ad-events.js";
import { addressChecks } from "./address-checks.js";
import type { Contract } from "./contract.js";
import { dataExport } from "./data-export.js";
import { fanOut } from "./fan-out.js";
import { geocode } from "./geocode.js";
import { images } from "./images.js";
import { menuImport } from "./menu-import.js";
import { posEvents } from "./pos-events.js";
import { posSync } from "./pos-sync.js";
import { push } from "./push.js";
import { rollups } from "./rollups.js";
import { sms } from "./sms.js";
import { statements } from "./statements.js";
import { upkeep } from "./upkeep.js";
import { webhooks } from "./webhooks.js";

export {
  adEvents,
  addressChecks,
  dataExport,
  fanOut,
  geocode,
  images,
  menuImport,
  posEvents,
  posSync,
  push,
  rollups,
  sms,
  statements,
  upkeep,
  webhooks,
};

/** Every queue, for the relay, the dashboard and the metrics. */
export const contracts: readonly Contract[] = [
  adEvents,
  addressChecks,
  dataExport,
  fanOut,
  geocode,
  images,
  menuImport,
  posEvents,
  posSync,
  push,
  rollups,
  sms,
  statements,
  upkeep,
  webhooks,
];
